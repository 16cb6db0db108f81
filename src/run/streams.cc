#include "run/streams.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "run/supervisor.h"

namespace cordon {

void RawTerminal::enter() {
  // Once: after a stop that came without notice the modes are a shell's, or still raw.
  if (!known_) known_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
  if (!known_) return;
  termios raw = before_;
  ::cfmakeraw(&raw);
  raw_ = ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

void RawTerminal::restore() {
  if (raw_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  raw_ = false;
}

bool in_foreground() {
  const pid_t group = ::tcgetpgrp(STDIN_FILENO);
  return group < 0 || group == ::getpgrp();
}

void stop_as_by_key() {
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTSTP);
  ::raise(SIGTSTP);
  // Blocked for the signalfd; delivered here, where the kernel drops it in an orphaned group.
  ::pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
  ::pthread_sigmask(SIG_BLOCK, &stop, nullptr);
}

WindowSize window_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0) return {};
  return {size.ws_row, size.ws_col};
}

void copy_window_size(int master) {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) ::ioctl(master, TIOCSWINSZ, &size);
}

Capture::Capture(std::uint64_t limit) : head_limit_(limit - limit / 2), tail_limit_(limit / 2) {}

void Capture::add(std::string_view bytes) {
  bytes_ += bytes.size();
  const std::size_t to_head = std::min(bytes.size(), head_limit_ - head_.size());
  head_.append(bytes.substr(0, to_head));
  bytes.remove_prefix(to_head);
  if (bytes.empty() || tail_limit_ == 0) return;
  if (bytes.size() > tail_limit_) bytes.remove_prefix(bytes.size() - tail_limit_);
  const std::size_t growing = std::min(bytes.size(), tail_limit_ - ring_.size());
  ring_.append(bytes.substr(0, growing));
  bytes.remove_prefix(growing);
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), tail_limit_ - oldest_);
    ring_.replace(oldest_, part, bytes.substr(0, part));
    oldest_ = (oldest_ + part) % tail_limit_;
    bytes.remove_prefix(part);
  }
}

Stream Capture::take() {
  Stream stream;
  stream.head = std::move(head_);
  stream.tail = ring_.substr(oldest_) + ring_.substr(0, oldest_);
  stream.bytes = bytes_;
  return stream;
}

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

namespace {

constexpr const char* kLayer = "relay";
constexpr const char* kPrefix = "cannot write the command's output: ";

std::string text_of(int error) {
  if (error == ETIMEDOUT) return "nobody read it in time";
  const char* text = ::strerrordesc_np(error);
  return text != nullptr ? text : "error " + std::to_string(error);
}

}  // namespace

Denial lost_output(int error) { return {"output", text_of(error), kLayer, 1}; }

End end_with_lost_output(const End& end) {
  return end == End(Exited{0}) ? End(Signaled{SIGPIPE}) : end;
}

bool is_lost_output(const Denial& denial) {
  // The same layer has one more: the limit of all output.
  return denial.what == "output" && denial.layer == kLayer &&
         !denial.detail.starts_with("killed at");
}

std::optional<std::string> lost_output_message(const Denial& denial) {
  if (!is_lost_output(denial) || denial.detail == text_of(EPIPE)) return std::nullopt;
  return kPrefix + denial.detail;
}

namespace {

// What was written last is kept for a reader who pauses this long, and is slow for that long.
constexpr std::uint64_t kPauseMilliseconds = 5000;
constexpr std::uint64_t kDrainMilliseconds = 60000;
constexpr int kLookMilliseconds = 100;

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

// Where a file stands that can be read from any position; nothing for streams.
std::optional<off_t> position_of(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) < 0) return std::nullopt;
  if (!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode)) return std::nullopt;
  const off_t position = ::lseek(fd, 0, SEEK_CUR);
  return position < 0 ? std::nullopt : std::optional(position);
}

// The first three may be missing of a program that was started without them.
Result<void> check_open(int fd) {
  if (fd <= STDERR_FILENO || ::fcntl(fd, F_GETFD) >= 0) return {};
  return fail(usage_error(
      "a stream is to be connected to descriptor " + std::to_string(fd) + ", which is not open",
      "keep it open until the run is over"));
}

void set_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

}  // namespace

Input Input::of_bytes(std::string bytes) {
  Input input;
  input.from_ = std::move(bytes);
  return input;
}

Input Input::drawn_from(int descriptor) {
  Input input;
  input.from_ = Descriptor{descriptor};
  return input;
}

Output Output::heard_by(OutputCallback callback) {
  Output output;
  if (callback) output.to_ = std::make_shared<const OutputCallback>(std::move(callback));
  return output;
}

Output Output::unfiltered_to(int out, int err) {
  Output output;
  output.to_ = Descriptors{out, err};
  return output;
}

Result<void> Streams::check(const StreamRequest& request) {
  if (const auto* source = std::get_if<Input::Descriptor>(&request.in.from_)) {
    CORDON_CHECK(check_open(source->number));
  }
  if (const auto* given = std::get_if<Output::Descriptors>(&request.out.to_)) {
    CORDON_CHECK(check_open(given->out));
    CORDON_CHECK(check_open(given->err));
  }
  return {};
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
  CORDON_CHECK(streams.open_output(request, OutputFrom::Out, streams.command_.out, streams.out_));
  CORDON_CHECK(streams.open_output(request, OutputFrom::Err, streams.command_.err, streams.err_));
  return streams;
}

Result<void> Streams::open_input(const StreamRequest& request) {
  if (request.spawner_socket) {
    command_fds_.push_back(std::move(*request.spawner_socket));
    command_.in = command_fds_.back().get();
    return {};
  }
  if (request.input_pipe) {
    if (!is_anonymous_pipe(request.input_pipe->get())) {
      return fail(setup_error("the input is no pipe", 0));
    }
    command_fds_.push_back(std::move(*request.input_pipe));
    command_.in = command_fds_.back().get();
    return {};
  }
  const auto* bytes = std::get_if<std::string>(&request.in.from_);
  const auto* source = std::get_if<Input::Descriptor>(&request.in.from_);
  if (bytes == nullptr) {
    if (source == nullptr) return {};
    if (is_null_device(source->number)) return {};
    if (is_anonymous_pipe(source->number)) {
      command_.in = source->number;
      return {};
    }
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) return fail(setup_error("cannot make a pipe", errno));
  command_fds_.emplace_back(ends[0]);
  input_end_ = Fd(ends[1]);
  command_.in = ends[0];
  set_nonblocking(ends[1]);
  if (bytes == nullptr) return open_input_from(source->number);
  relays_.push_back(Relay::input_bytes(*bytes, ends[1]));
  settle(relays_.back());
  return {};
}

Result<void> Streams::open_input_from(int descriptor) {
  const std::optional<off_t> position = position_of(descriptor);
  if (!position) {
    relays_.push_back(Relay::input(descriptor, input_end_.get()));
    return {};
  }
  Fd reading_end(::fcntl(command_.in, F_DUPFD_CLOEXEC, 0));
  if (!reading_end.valid()) return fail(setup_error("cannot duplicate a pipe", errno));
  input_file_ = InputFile{descriptor, *position, std::move(reading_end)};
  relays_.push_back(Relay::input_file(descriptor, *position, input_end_.get()));
  return {};
}

Result<void> Streams::open_output(const StreamRequest& request, OutputFrom from, int& command_end,
                                  std::unique_ptr<Capture>& capture) {
  const auto* given = std::get_if<Output::Descriptors>(&request.out.to_);
  const bool captured = given == nullptr;
  const int host_fd = captured ? -1 : from == OutputFrom::Out ? given->out : given->err;
  if (!captured && !request.total && !request.relay_output) {
    if (is_null_device(host_fd)) return {};
    if (is_anonymous_pipe(host_fd)) {
      command_end = host_fd;
      return {};
    }
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) return fail(setup_error("cannot make a pipe", errno));
  Fd reading_end(ends[0]);
  command_fds_.emplace_back(ends[1]);
  command_end = ends[1];
  set_nonblocking(ends[0]);
  if (!captured) {
    const int to = is_null_device(host_fd) ? -1 : host_fd;
    relays_.push_back(Relay::output(std::move(reading_end), to));
    return {};
  }
  capture = std::make_unique<Capture>(request.keep);
  relays_.push_back(Relay::capture(std::move(reading_end), capture.get()));
  if (const auto* callback = std::get_if<Output::Callback>(&request.out.to_)) {
    relays_.back().tell(*callback, from);
  }
  return {};
}

Result<void> Streams::give_to(uid_t uid, gid_t gid) {
  for (const int end : {command_.in, command_.out, command_.err}) {
    if (end >= 0 && ::fchown(end, uid, gid) < 0) {
      return fail(setup_error("cannot give a pipe to the command", errno));
    }
  }
  return {};
}

void Streams::command_started() { command_fds_.clear(); }

void Streams::attach_terminal(Fd master) {
  master_ = std::move(master);
  set_nonblocking(master_.get());
  using Direction = Relay::Direction;
  relays_.push_back(Relay::between(Direction::In, STDIN_FILENO, master_.get()));
  relays_.push_back(Relay::between(Direction::Out, master_.get(), STDOUT_FILENO));
}

void Streams::settle(const Relay& relay) {
  if (relay.direction() == Relay::Direction::In) {
    if (relay.over()) close_input();
    return;
  }
  if (relay.error() == 0 || !master_.valid()) return;
  // The terminal outside is gone or full: the one inside hangs up.
  for (Relay& other : relays_) other.stop();
  master_.reset();
}

std::uint64_t Streams::output_bytes() const {
  std::uint64_t total = 0;
  for (const Relay& relay : relays_) {
    if (relay.direction() == Relay::Direction::Out) total += relay.bytes();
  }
  return total;
}

namespace {

void drain_relay(Relay& relay, std::uint64_t last, Streams::Left left) {
  std::uint64_t deadline = monotonic_ms() + kPauseMilliseconds;
  while (!relay.over()) {
    const std::uint64_t now = monotonic_ms();
    if (now >= std::min(deadline, last)) return relay.abandon(ETIMEDOUT);
    pollfd polled{};
    polled.fd = relay.wants_write() ? relay.to() : relay.from();
    polled.events = relay.wants_write() ? POLLOUT : POLLIN;
    const bool until_empty = left == Streams::Left::Some && relay.wants_read();
    if (::poll(&polled, 1, until_empty ? 0 : kLookMilliseconds) <= 0) {
      if (until_empty) return relay.stop();
      continue;
    }
    const std::uint64_t before = relay.bytes() + relay.delivered();
    if (relay.wants_write()) {
      relay.write_some();
    } else {
      relay.read_some();
    }
    if (relay.bytes() + relay.delivered() != before) deadline = now + kPauseMilliseconds;
  }
}

}  // namespace

void Streams::drain(Left left) {
  const std::uint64_t last = monotonic_ms() + kDrainMilliseconds;
  return_unread();
  for (Relay& relay : relays_) {
    if (relay.direction() == Relay::Direction::In) {
      relay.stop();
    } else {
      drain_relay(relay, last, left);
    }
  }
}

void Streams::return_unread() {
  if (!input_file_) return;
  std::uint64_t sent = 0;
  for (const Relay& relay : relays_) {
    if (relay.direction() == Relay::Direction::In) sent = relay.delivered();
  }
  // The command may have written into its own end; it cannot have read less than nothing.
  const std::uint64_t unread = std::min(sent, unread_bytes(input_file_->reading_end.get()));
  const off_t start = input_file_->start;
  // Somebody else who reads the same file meanwhile has moved it: that is then the position.
  if (::lseek(input_file_->descriptor, 0, SEEK_CUR) != start) return;
  ::lseek(input_file_->descriptor, start + static_cast<off_t>(sent - unread), SEEK_SET);
}

int Streams::lost_output() const {
  for (const Relay& relay : relays_) {
    if (relay.direction() == Relay::Direction::Out && relay.error() != 0) return relay.error();
  }
  return 0;
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
