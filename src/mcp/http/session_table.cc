#include "mcp/http/session_table.h"

#include <algorithm>

#include "mcp/open_questions.h"

namespace cordon::mcp {
namespace {

constexpr std::size_t kMostSessions = 64;

}  // namespace

std::optional<std::string> SessionTable::add(const std::shared_ptr<Session>& session) {
  auto id = random_token();
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMostSessions) {
    const auto idle = std::find_if(known_.rbegin(), known_.rend(),
                                   [](const Entry& entry) { return entry.session->idle(); });
    if (idle == known_.rend()) return std::nullopt;
    known_.erase(std::next(idle).base());
  }
  if (id) known_.push_front({*id, session});
  return id;
}

std::shared_ptr<Session> SessionTable::find(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(known_, [&](const Entry& e) { return e.id == id; });
  if (found == known_.end()) return nullptr;
  known_.splice(known_.begin(), known_, found);
  return found->session;
}

bool SessionTable::remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(known_, [&](const Entry& e) { return e.id == id; });
  if (found == known_.end()) return false;
  found->session->cancel_all();
  known_.erase(found);
  return true;
}

void SessionTable::open(const std::shared_ptr<Session>& session) {
  const std::lock_guard lock(mutex_);
  open_.push_back(session);
}

void SessionTable::closed(const std::shared_ptr<Session>& session) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(open_, session);
  if (found != open_.end()) open_.erase(found);
}

void SessionTable::cancel_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& session : open_) session->cancel_all();
}

}  // namespace cordon::mcp
