#include "mcp/tools/approvals.h"

#include <time.h>

#include <algorithm>

#include "policy/host_rule.h"

namespace cordon::mcp {
namespace {

constexpr std::size_t kMostKept = 32;
constexpr std::size_t kMostNoes = 32;

// Goes on while the host sleeps: what was approved for an hour is not there the next morning.
std::uint64_t now_ms() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1000 +
         static_cast<std::uint64_t>(time.tv_nsec) / 1'000'000;
}

}  // namespace

std::string_view kind_word(Approval::Kind kind) {
  switch (kind) {
    case Approval::Kind::Read:
      return "read";
    case Approval::Kind::Write:
      return "write";
    case Approval::Kind::Net:
      return "network";
  }
  return "";
}

std::string target_of(const Approval& approval) {
  return approval.kind == Approval::Kind::Net ? to_string(approval.host) : approval.path;
}

bool has_askable(const Ceiling& ceiling) {
  const AskRules& ask = ceiling.ask;
  return !ask.read.empty() || !ask.write.empty() || !ask.net.empty();
}

std::vector<Approval> approvals_of(const Bounds& bounds) {
  std::vector<Approval> approved;
  approved.reserve(bounds.approved.size());
  for (const LiveApproval& live : bounds.approved) approved.push_back(live.approval);
  return approved;
}

bool Approvals::keep(Approval approval, Fd pin, std::uint64_t lifetime_ms) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t now = now_ms();
  std::erase_if(entries_, [&](const Entry& entry) { return entry.ends_ms <= now; });
  if (entries_.size() >= kMostKept) return false;
  entries_.push_back({std::move(approval), std::move(pin), now + lifetime_ms});
  return true;
}

std::vector<LiveApproval> Approvals::live() {
  const std::lock_guard lock(mutex_);
  const std::uint64_t now = now_ms();
  std::erase_if(entries_, [&](const Entry& entry) { return entry.ends_ms <= now; });
  std::vector<LiveApproval> live;
  live.reserve(entries_.size());
  for (const Entry& entry : entries_) live.push_back({entry.approval, entry.ends_ms - now});
  return live;
}

void Approvals::end(const std::string& id) {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const Entry& entry) { return entry.approval.id == id; });
}

void Approvals::note_no(const std::string& question) {
  const std::lock_guard lock(mutex_);
  if (noes_.size() < kMostNoes) noes_.push_back(question);
}

bool Approvals::is_settled(const std::string& question) const {
  const std::lock_guard lock(mutex_);
  return noes_.size() >= kMostNoes || std::ranges::find(noes_, question) != noes_.end();
}

}  // namespace cordon::mcp
