#include "mcp/http/patience.h"

#include <sys/socket.h>

#include <algorithm>

namespace cordon::mcp {
namespace {

constexpr std::chrono::seconds kHead{3};
constexpr std::chrono::seconds kBody{30};
constexpr std::chrono::seconds kNextRequest{60};

// Its thread wakes up, finds the connection closed and gives its place back.
void end(int socket) { ::shutdown(socket, SHUT_RDWR); }

}  // namespace

void Patience::set(Connection& connection, State state, Clock::duration time) {
  connection = {state, ++changes_, Clock::now() + time};
}

std::size_t Patience::count(State state) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      connections_, [&](const auto& entry) { return entry.second.state == state; }));
}

void Patience::make_room(State state, std::size_t most) {
  if (count(state) < most) return;
  auto oldest = connections_.end();
  for (auto at = connections_.begin(); at != connections_.end(); ++at) {
    if (at->second.state != state) continue;
    if (oldest == connections_.end() || at->second.order < oldest->second.order) oldest = at;
  }
  end(oldest->first);
  connections_.erase(oldest);
}

void Patience::connected(int socket) {
  const std::lock_guard lock(mutex_);
  make_room(State::Stranger, kMostStrangers);
  set(connections_[socket], State::Stranger, kHead);
}

void Patience::known(int socket) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(socket);
  if (found == connections_.end()) return;  // it was ended meanwhile
  if (found->second.state == State::Stranger &&
      count(State::Known) + count(State::Waiting) >= kMostKnown && count(State::Waiting) > 0)
    make_room(State::Waiting, 0);
  set(found->second, State::Known, kBody);
}

// No deadline while it is worked on.
void Patience::received(int socket) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(socket);
  if (found == connections_.end() || found->second.state == State::Stranger) return;
  found->second.deadline = Clock::time_point::max();
}

// A stranger that was refused stays one.
void Patience::answered(int socket) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(socket);
  if (found == connections_.end() || found->second.state == State::Stranger) return;
  set(found->second, State::Waiting, kNextRequest);
}

void Patience::closed(int socket) {
  const std::lock_guard lock(mutex_);
  connections_.erase(socket);
}

void Patience::end_overdue() {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  std::erase_if(connections_, [&](const auto& entry) {
    if (entry.second.deadline > now) return false;
    end(entry.first);
    return true;
  });
}

}  // namespace cordon::mcp
