#include "run/streams.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "run/caller_terminal.h"
#include "run/supervisor.h"

namespace cordon {

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
  if (const auto position = position_of(STDIN_FILENO)) {
    input_file_ = InputFile{STDIN_FILENO, *position, {}};
    relays_.push_back(Relay::input_file(STDIN_FILENO, *position, master_.get()));
  } else {
    relays_.push_back(Relay::between(Direction::In, STDIN_FILENO, master_.get()));
  }
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

namespace {

// What nobody has read of what went into the terminal behind `master`, once the last process in it
// is dead. The kernel tells the number of whole lines alone, and of the rest nothing: so it is read
// here. `ends` ends of input went in behind it, each a NUL by now.
std::uint64_t unread_of(int master, std::uint64_t ends) {
  constexpr int kArrivesWithinMilliseconds = 20;
  const Fd terminal(::ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  termios modes{};
  if (!terminal.valid() || ::tcgetattr(terminal.get(), &modes) < 0) return 0;
  ::cfmakeraw(&modes);
  if (::tcsetattr(terminal.get(), TCSANOW, &modes) < 0) return 0;
  std::uint64_t count = 0;
  std::uint64_t nuls = 0;  // at the end of what was read
  std::array<char, 4096> block{};
  pollfd polled{terminal.get(), POLLIN, 0};
  while (::poll(&polled, 1, kArrivesWithinMilliseconds) > 0) {
    const ssize_t got = ::read(terminal.get(), block.data(), block.size());
    if (got <= 0) break;
    count += static_cast<std::uint64_t>(got);
    for (const char byte : std::string_view(block.data(), static_cast<std::size_t>(got)))
      nuls = byte == '\0' ? nuls + 1 : 0;
  }
  return count - std::min(nuls, ends);
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
  std::uint64_t ends = 0;
  for (const Relay& relay : relays_) {
    if (relay.direction() != Relay::Direction::In) continue;
    sent = std::min(relay.delivered(), relay.bytes());
    ends = relay.delivered() - sent;
  }
  const int reading = input_file_->reading_end.get();
  if (reading < 0 && !master_.valid()) return;
  const std::uint64_t left = reading >= 0 ? unread_bytes(reading) : unread_of(master_.get(), ends);
  // The command may have written into its own end; it cannot have read less than nothing.
  const std::uint64_t unread = std::min(sent, left);
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
