#include "faces/mcp/tools/approvals.h"

#include <time.h>

#include <algorithm>
#include <utility>

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

bool Approvals::keep(Approval approval, Fd pin, std::uint64_t lifetime_ms) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t now = now_ms();
  std::erase_if(entries_, [&](const Entry& entry) { return entry.ends_ms <= now; });
  if (over_ || entries_.size() >= kMostKept) return false;
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

void Approvals::withdraw(const std::string& id) {
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

void Approvals::end() {
  const std::lock_guard lock(mutex_);
  over_ = true;
  entries_.clear();
}

std::shared_ptr<Approvals> ClientApprovals::of(const std::shared_ptr<Client>& client) {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [](const Entry& entry) { return entry.client.expired(); });
  // Compared without a reference to other clients: the last one of a client ends its processes.
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return !entry.client.owner_before(client) && !client.owner_before(entry.client);
  });
  if (found != entries_.end()) return found->approvals;
  auto approvals = std::make_shared<Approvals>();
  client->began(approvals);
  entries_.push_back({client, approvals});
  return approvals;
}

}  // namespace cordon::mcp
