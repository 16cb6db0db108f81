#include "mcp/http/session_table.h"

#include <algorithm>

#include "mcp/open_questions.h"

namespace cordon::mcp {
namespace {

constexpr std::size_t kMostSessions = 64;
constexpr std::size_t kMostClients = 64;
// The notification that ends the handshake is the first; from the second on a client does
// something.
constexpr std::uint64_t kAtWork = 2;

}  // namespace

std::optional<std::string> SessionTable::add(const std::shared_ptr<Session>& session) {
  auto id = random_token();
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMostSessions) {
    auto victim = known_.end();
    for (auto at = known_.begin(); at != known_.end(); ++at) {
      if (!at->session->idle() || at->session->client()->is_at_work()) continue;
      // Last used first, so the later one of equals was idle longer.
      if (victim == known_.end() || at->requests <= victim->requests) victim = at;
    }
    if (victim == known_.end()) return std::nullopt;
    known_.erase(victim);
  }
  if (id) known_.push_front({*id, session});
  return id;
}

std::shared_ptr<Client> SessionTable::client_named(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const bool room = clients_.contains(name) || clients_.size() < kMostClients;
  auto& client = clients_[room ? name : std::string()];
  if (!client) client = std::make_shared<Client>();
  return client;
}

std::shared_ptr<Session> SessionTable::find(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(known_, [&](const Entry& e) { return e.id == id; });
  if (found == known_.end()) return nullptr;
  if (found->requests < kAtWork) ++found->requests;
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
