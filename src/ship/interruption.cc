#include "ship/interruption.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <limits>

namespace cordon::ship {
namespace {

sigset_t ending_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&set, number);
  return set;
}

}  // namespace

Interruption::Interruption() {
  const sigset_t set = ending_signals();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  // Without it nothing can be waited for: then a signal ends the process as ever.
  if (!signals_.valid()) ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

Interruption::~Interruption() {
  const sigset_t set = ending_signals();
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

bool Interruption::asked() {
  signalfd_siginfo info{};
  if (!asked_ && signals_.valid() && ::read(signals_.get(), &info, sizeof info) == sizeof info) {
    asked_ = true;
    const sigset_t set = ending_signals();
    ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  }
  return asked_;
}

bool Interruption::wait(int descriptor, short events, int limit_ms) {
  std::array<pollfd, 2> polled{{{signals_.get(), POLLIN, 0}, {descriptor, events, 0}}};
  if (asked()) return true;
  ::poll(polled.data(), polled.size(), limit_ms);
  return asked();
}

Answer<bool> Interruption::wait_until(int descriptor, short events,
                                      std::chrono::steady_clock::time_point until) {
  using Clock = std::chrono::steady_clock;
  pollfd ready{descriptor, events, 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    const int limit =
        static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
    if (wait(descriptor, events, limit)) return tl::make_unexpected(ended());
    if (::poll(&ready, 1, 0) > 0) return true;
    if (limit == 0) return false;
  }
}

Trouble ended() { return {Trouble::Kind::Ended, setup_error("interrupted", 0)}; }

}  // namespace cordon::ship
