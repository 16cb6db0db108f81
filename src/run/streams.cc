#include "run/streams.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "run/monotonic.h"
#include "run/terminal.h"

namespace cordon {
namespace {

constexpr std::size_t kBlock = std::size_t{64} * 1024;
// A terminal or socket that was reported writable may still block on a large write.
constexpr std::size_t kWriteBlock = 4096;
constexpr std::uint64_t kDrainMilliseconds = 5000;

bool is_anonymous_pipe(int fd) {
  struct stat status {};
  struct statfs system {};
  constexpr unsigned long kPipeMagic = 0x50495045;
  return ::fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode) && ::fstatfs(fd, &system) == 0 &&
         static_cast<unsigned long>(system.f_type) == kPipeMagic;
}

bool is_null_device(int fd) {
  struct stat given {};
  struct stat null {};
  return ::fstat(fd, &given) < 0 || (S_ISCHR(given.st_mode) && ::stat("/dev/null", &null) == 0 &&
                                     given.st_rdev == null.st_rdev);
}

void set_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

}  // namespace

bool Relay::read_some() {
  std::array<char, kBlock> block;
  const ssize_t got = ::read(from_, block.data(), block.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got <= 0) {  // EIO is how a pty says that nobody holds its other end
    from_ = -1;
    return false;
  }
  const std::string_view bytes(block.data(), static_cast<std::size_t>(got));
  bytes_ += bytes.size();
  if (to_ < 0) {
    if (capture_ != nullptr) capture_->add(bytes);
    if (listener_ != nullptr) listener_->output(listener_name_, bytes);
  } else {
    pending_.assign(bytes);
  }
  return true;
}

namespace {

// A write to a reader that is gone answers EPIPE and nothing more: the signal that goes with it
// would end this process, which may be anybody's, unless it is blocked and taken.
ssize_t write_without_signal(int fd, std::string_view bytes) {
  sigset_t pipe;
  sigset_t before;
  sigset_t pending;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::sigpending(&pending);
  const bool was_pending = ::sigismember(&pending, SIGPIPE) == 1;
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  const ssize_t written = ::write(fd, bytes.data(), bytes.size());
  const int error = errno;
  if (written < 0 && error == EPIPE && !was_pending) {
    const timespec at_once{};
    ::sigtimedwait(&pipe, nullptr, &at_once);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

}  // namespace

bool Relay::write_some() {
  const std::string_view next = std::string_view(pending_).substr(0, kWriteBlock);
  const ssize_t written = write_without_signal(to_, next);
  if (written < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (written < 0) {  // the reader is gone: nobody wants the rest
    stop();
    return false;
  }
  pending_.erase(0, static_cast<std::size_t>(written));
  return true;
}

Result<Streams> Streams::open(const StreamRequest& request) {
  Streams streams;
  if (request.terminal) {
    streams.command_.terminal = true;
    const WindowSize size = window_size();
    streams.command_.rows = size.rows;
    streams.command_.columns = size.columns;
    return streams;
  }
  CORDON_CHECK(streams.open_input(request));
  CORDON_CHECK(streams.open_output(request, STDOUT_FILENO, streams.command_.out, streams.out_));
  CORDON_CHECK(streams.open_output(request, STDERR_FILENO, streams.command_.err, streams.err_));
  return streams;
}

Result<void> Streams::open_input(const StreamRequest& request) {
  if (request.input_pipe) {
    if (!is_anonymous_pipe(request.input_pipe->get())) {
      return fail(setup_error("the input is no pipe", 0));
    }
    command_fds_.push_back(std::move(*request.input_pipe));
    command_.in = command_fds_.back().get();
    return {};
  }
  const bool from_memory = request.input.has_value();
  if (!from_memory) {
    if (request.in == Stdin::Null || is_null_device(STDIN_FILENO)) return {};
    if (is_anonymous_pipe(STDIN_FILENO)) {
      command_.in = STDIN_FILENO;
      return {};
    }
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) return fail(setup_error("cannot make a pipe", errno));
  command_fds_.emplace_back(ends[0]);
  input_end_ = Fd(ends[1]);
  command_.in = ends[0];
  set_nonblocking(ends[1]);
  relays_.emplace_back(from_memory ? -1 : STDIN_FILENO, ends[1], nullptr);
  if (from_memory) relays_.back().preset(*request.input);
  if (from_memory && request.input->empty()) close_input();
  return {};
}

Result<void> Streams::open_output(const StreamRequest& request, int host_fd, int& command_end,
                                  std::unique_ptr<Capture>& capture) {
  const bool captured = request.out == Stdout::Capture;
  if (!captured && !request.total) {
    if (is_null_device(host_fd)) return {};
    if (is_anonymous_pipe(host_fd)) {
      command_end = host_fd;
      return {};
    }
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) return fail(setup_error("cannot make a pipe", errno));
  our_fds_.emplace_back(ends[0]);
  command_fds_.emplace_back(ends[1]);
  command_end = ends[1];
  set_nonblocking(ends[0]);
  if (captured) capture = std::make_unique<Capture>(request.keep);
  relays_.emplace_back(ends[0], captured || is_null_device(host_fd) ? -1 : host_fd, capture.get());
  using From = OutputListener::From;
  if (captured) {
    relays_.back().listen(request.listener, host_fd == STDOUT_FILENO ? From::Out : From::Err);
  }
  return {};
}

void Streams::command_started() { command_fds_.clear(); }

void Streams::attach_terminal(Fd master) {
  master_ = std::move(master);
  set_nonblocking(master_.get());
  relays_.emplace_back(STDIN_FILENO, master_.get(), nullptr);
  relays_.emplace_back(master_.get(), STDOUT_FILENO, nullptr);
}

bool Streams::input_relay(const Relay& relay) const {
  return relay.to() >= 0 && (relay.to() == input_end_.get() || relay.to() == master_.get());
}

void Streams::close_input() { input_end_.reset(); }

std::uint64_t Streams::output_bytes() const {
  std::uint64_t total = 0;
  for (const Relay& relay : relays_) {
    if (!input_relay(relay)) total += relay.bytes();
  }
  return total;
}

void Streams::drain() {
  const std::uint64_t deadline = monotonic_ms() + kDrainMilliseconds;
  for (Relay& relay : relays_) {
    if (input_relay(relay)) {
      relay.stop();
      continue;
    }
    while ((!relay.done() || relay.wants_write()) && monotonic_ms() < deadline) {
      pollfd polled{};
      polled.fd = relay.wants_write() ? relay.to() : relay.from();
      polled.events = relay.wants_write() ? POLLOUT : POLLIN;
      if (::poll(&polled, 1, 100) <= 0) continue;
      if (relay.wants_write()) {
        relay.write_some();
      } else {
        relay.read_some();
      }
    }
  }
}

std::optional<Stream> Streams::take_out() {
  if (!out_) return std::nullopt;
  return out_->take();
}

std::optional<Stream> Streams::take_err() {
  if (!err_) return std::nullopt;
  return err_->take();
}

}  // namespace cordon
