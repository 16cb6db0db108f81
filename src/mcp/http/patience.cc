#include "mcp/http/patience.h"

#include <sys/socket.h>

namespace cordon::mcp {
namespace {

constexpr std::chrono::seconds kFirstRequest{10};
constexpr std::chrono::seconds kNextRequest{60};

}  // namespace

void Patience::expect(int socket, Clock::duration time) {
  const std::lock_guard lock(mutex_);
  deadlines_[socket] = Clock::now() + time;
}

void Patience::connected(int socket) { expect(socket, kFirstRequest); }

void Patience::answered(int socket) { expect(socket, kNextRequest); }

void Patience::received(int socket) {
  const std::lock_guard lock(mutex_);
  deadlines_.erase(socket);
}

void Patience::closed(int socket) { received(socket); }

void Patience::end_overdue() {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  std::erase_if(deadlines_, [&](const auto& entry) {
    if (entry.second > now) return false;
    ::shutdown(entry.first, SHUT_RDWR);
    return true;
  });
}

}  // namespace cordon::mcp
