#include "plan/losses.h"

#include <algorithm>

#include "base/path.h"
#include "plan/landlock_abi.h"

namespace cordon {

std::vector<Loss> landlock_losses(int abi) {
  if (abi <= 0) return {Loss::LandlockFiles, Loss::LandlockScopes};
  std::vector<Loss> lost;
  if (abi < kAbiWithRefer) lost.push_back(Loss::LandlockRefer);
  if (abi < kAbiWithTruncate) lost.push_back(Loss::LandlockTruncate);
  if (abi < kAbiWithIoctl) lost.push_back(Loss::LandlockIoctl);
  if (abi < kAbiWithScopes) lost.push_back(Loss::LandlockScopes);
  return lost;
}

std::vector<Loss> namespace_losses(NetMode net) {
  std::vector<Loss> lost = {Loss::Metadata, Loss::Processes, Loss::Accounts, Loss::Scratch};
  if (net != NetMode::Open) lost.push_back(Loss::Loopback);
  return lost;
}

std::vector<Loss> limit_losses(const std::vector<PlannedLimit>& limits) {
  std::vector<Loss> lost;
  for (const PlannedLimit& limit : limits) {
    if (limit.by != LimitBy::Watch) continue;
    if (limit.name == "memory") lost.push_back(Loss::MemoryBurst);
    if (limit.name == "pids") lost.push_back(Loss::ProcessBurst);
  }
  return lost;
}

std::vector<Loss> general_losses(const Effective& effective, const HostFacts& facts) {
  std::vector<Loss> lost{Loss::InFlight};
  const auto anywhere = [](const DenyGlob& rule) {
    return rule.anchor.empty() || rule.pattern.find_first_of("/") != std::string::npos ||
           rule.pattern == "**";
  };
  const auto writable = [&](const DenyGlob& rule) {
    return std::ranges::any_of(effective.write, [&](const Grant& grant) {
      return contains(grant.path, rule.anchor) || contains(rule.anchor, grant.path);
    });
  };
  const bool grants = !effective.read.empty() || !effective.write.empty();
  const bool denied = grants && std::ranges::any_of(effective.deny, [&](const DenyGlob& rule) {
                        return anywhere(rule) || writable(rule);
                      });
  if (denied || !facts.unlisted.empty()) lost.push_back(Loss::Appearing);
  return lost;
}

void lose(Plan& plan, const std::vector<Loss>& more) {
  plan.lost.insert(plan.lost.end(), more.begin(), more.end());
}

}  // namespace cordon
