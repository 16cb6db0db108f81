#include "egress/meter.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>

namespace cordon {
namespace {

constexpr int kLookMilliseconds = 25;
// The kernel tells the end of a socket a moment after it.
constexpr int kSettleMilliseconds = 10;
constexpr int kSettleRounds = 20;

}  // namespace

Result<std::unique_ptr<Meter>> Meter::make(std::optional<std::uint64_t> most) {
  const int watch = sys::watch_socket_ends();
  const int questions = sys::open_socket_questions();
  Fd over(::eventfd(0, EFD_CLOEXEC));
  if (!over.valid()) return fail(setup_error("cannot make an event descriptor", errno));
  if (most && (watch < 0 || questions < 0)) {
    return fail({.kind = ErrorKind::Unsupported,
                 .what = "limits.sent cannot be held: the kernel does not tell what sockets carry",
                 .hint = "load the module tcp_diag, or remove the limit",
                 .error_number = watch < 0 ? -watch : -questions});
  }
  return std::unique_ptr<Meter>(new Meter(Fd(watch), Fd(questions), std::move(over), most));
}

void Meter::add(int connected, std::optional<std::size_t> entry) {
  const auto name = sys::name_of_socket(connected);
  const std::lock_guard lock(mutex_);
  if (!watch_.valid() || !questions_.valid()) return;
  if (name) {
    living_[name->cookie] = {*name, entry, {}};
  } else {
    lost_ = true;
    check();
  }
}

void Meter::serve(int stop) {
  for (;;) {
    pollfd polled[] = {{watch_.get(), POLLIN, 0}, {stop, POLLIN, 0}};
    if (::poll(polled, 2, most_ ? kLookMilliseconds : -1) < 0 && errno != EINTR) return;
    if (polled[1].revents != 0) return;
    const std::lock_guard lock(mutex_);
    take_ends();
    if (most_) look_at_living();
    check();
  }
}

void Meter::take_ends() {
  sys::SocketEnd end;
  for (;;) {
    const int error = sys::next_socket_end(watch_.get(), end);
    if (error == -ENOBUFS) {
      lost_ = true;
      continue;
    }
    if (error != 0) return;
    const auto found = living_.find(end.cookie);
    if (found == living_.end()) continue;
    found->second.bytes = end.bytes;
    finish(found->second);
    living_.erase(found);
  }
}

void Meter::finish(const Counted& counted) {
  sent_by_ended_ += counted.bytes.sent;
  if (!counted.entry) return;
  sys::SocketBytes& sum = ended_[*counted.entry];
  sum.sent += counted.bytes.sent;
  sum.received += counted.bytes.received;
}

void Meter::look_at_living() {
  for (auto& [cookie, counted] : living_) {
    sys::SocketBytes bytes;
    if (sys::ask_socket_bytes(questions_.get(), counted.name, bytes) == 0) counted.bytes = bytes;
  }
}

void Meter::check() {
  if (!most_) return;
  std::uint64_t sent = sent_by_ended_;
  for (const auto& [cookie, counted] : living_) sent += counted.bytes.sent;
  if (sent <= *most_ && !lost_) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t told = ::write(over_.get(), &one, sizeof one);
}

// True if nothing more is to come: what is left still sends, or was not told of and never will be.
bool Meter::settled() {
  bool awaited = false;
  for (auto& [cookie, counted] : living_) {
    sys::SocketBytes bytes;
    if (sys::ask_socket_bytes(questions_.get(), counted.name, bytes) == 0) {
      counted.bytes = bytes;
    } else {
      awaited = true;
    }
  }
  return !awaited;
}

void Meter::settle(Attempts& attempts) {
  const std::lock_guard lock(mutex_);
  if (!watch_.valid() || !questions_.valid()) return;
  bool all = false;
  for (int round = 0; round < kSettleRounds; ++round) {
    take_ends();
    all = settled();
    if (all) break;
    pollfd polled{watch_.get(), POLLIN, 0};
    (void)::poll(&polled, 1, kSettleMilliseconds);
  }
  for (const auto& [cookie, counted] : living_) {
    sys::SocketBytes bytes;
    const bool known = all || sys::ask_socket_bytes(questions_.get(), counted.name, bytes) == 0;
    if (known) {
      finish(counted);
    } else if (counted.entry) {
      attempts.lose_bytes(*counted.entry);
    }
  }
  living_.clear();
  for (const auto& [entry, bytes] : ended_) attempts.add_bytes(entry, bytes.sent, bytes.received);
  ended_.clear();
}

}  // namespace cordon
