#include "backend/seatbelt/seatbelt_child.h"

#include <sys/socket.h>

#include <cerrno>

namespace cordon::seatbelt {

ChildEvent SeatbeltChild::event() {
  Ended ended;
  const ssize_t got = ::recv(kept_.channel.get(), &ended, sizeof ended, MSG_DONTWAIT | MSG_PEEK);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return ChildRuns{};
  if (got <= 0) return ChildLost{};
  if (got < static_cast<ssize_t>(sizeof ended)) return ChildRuns{};
  (void)::recv(kept_.channel.get(), &ended, sizeof ended, 0);
  ended_ = ended;
  return ChildEnd{ended.wait_status, tree_usage()};
}

void SeatbeltChild::signal(int number) {
  const auto byte = static_cast<unsigned char>(number);
  (void)!::write(kept_.channel.get(), &byte, 1);
}

Usage SeatbeltChild::tree_usage() const {
  if (!ended_) return {};
  return {ended_->cpu_us / 1000, ended_->max_rss_bytes};
}

}  // namespace cordon::seatbelt
