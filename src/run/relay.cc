#include "run/relay.h"

#include <sys/ioctl.h>

#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <string_view>

namespace cordon {
namespace {

constexpr std::size_t kBlock = std::size_t{64} * 1024;
// A terminal or socket that was reported writable may still block on a large write.
constexpr std::size_t kWriteBlock = 4096;

// A write that fails answers with its errno and nothing more: the signals that go with a reader
// that is gone and with a file that may grow no further would end this process, which may be
// anybody's, unless they are blocked and taken.
ssize_t write_without_signal(int fd, std::string_view bytes) {
  sigset_t raised;
  sigset_t before;
  sigset_t pending;
  ::sigemptyset(&raised);
  ::sigpending(&pending);
  for (const int signal : {SIGPIPE, SIGXFSZ}) {
    if (::sigismember(&pending, signal) == 0) ::sigaddset(&raised, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &raised, &before);
  const ssize_t written = ::write(fd, bytes.data(), bytes.size());
  const int error = errno;
  if (written < 0 && (error == EPIPE || error == EFBIG)) {
    const timespec at_once{};
    ::sigtimedwait(&raised, nullptr, &at_once);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

// What tells the reader of a terminal that nothing more comes, which no closed descriptor can.
// Twice: behind a line that is not finished the first only hands that on.
std::string end_for_terminal(int fd) {
  termios modes{};
  if (::tcgetattr(fd, &modes) < 0 || (modes.c_lflag & ICANON) == 0) return {};
  const cc_t end = modes.c_cc[VEOF];
  return end == _POSIX_VDISABLE ? std::string() : std::string(2, static_cast<char>(end));
}

// Half of a run cannot be unwound: it would leave no record of how the command ended.
void call(const OutputCallback& callback, OutputFrom from, std::string_view bytes) noexcept {
  callback(from, bytes);
}

}  // namespace

Relay Relay::output(Fd from, int to) {
  Relay relay(Direction::Out, from.get(), to);
  relay.own_ = std::move(from);
  return relay;
}

Relay Relay::capture(Fd from, Capture* capture) {
  Relay relay = output(std::move(from), -1);
  relay.capture_ = capture;
  return relay;
}

Relay Relay::between(Direction direction, int from, int to) { return {direction, from, to}; }

Relay Relay::input_file(int from, off_t position, int to) {
  Relay relay(Direction::In, from, to);
  relay.has_position_ = true;
  relay.position_ = position;
  return relay;
}

Relay Relay::input_bytes(std::string bytes, int to) {
  Relay relay(Direction::In, -1, to);
  relay.pending_ = std::move(bytes);
  return relay;
}

void Relay::read_some() {
  std::array<char, kBlock> block;
  const ssize_t got = has_position_ ? ::pread(from_, block.data(), block.size(), position_)
                                    : ::read(from_, block.data(), block.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {  // EIO is how a pty says that nobody holds its other end
    from_ = -1;
    if (got == 0 && direction_ == Direction::In) pending_ = end_for_terminal(to_);
    return;
  }
  const std::string_view bytes(block.data(), static_cast<std::size_t>(got));
  bytes_ += bytes.size();
  position_ += got;
  if (to_ < 0) {
    if (capture_ != nullptr) capture_->add(bytes);
    if (callback_) call(*callback_, told_as_, bytes);
  } else {
    pending_.assign(bytes);
  }
}

void Relay::write_some() {
  const std::string_view next = std::string_view(pending_).substr(0, kWriteBlock);
  const ssize_t written = write_without_signal(to_, next);
  if (written < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (written < 0) {
    abandon(errno);
    return;
  }
  delivered_ += static_cast<std::uint64_t>(written);
  pending_.erase(0, static_cast<std::size_t>(written));
}

void Relay::stop() {
  from_ = -1;
  own_.reset();
  pending_.clear();
}

void Relay::abandon(int error) {
  const bool undelivered = !pending_.empty() || (from_ >= 0 && unread_bytes(from_) > 0);
  if (undelivered && error_ == 0) error_ = error;
  stop();
}

std::uint64_t unread_bytes(int descriptor) {
  int count = 0;
  if (::ioctl(descriptor, FIONREAD, &count) < 0 || count < 0) return 0;
  return static_cast<std::uint64_t>(count);
}

}  // namespace cordon
