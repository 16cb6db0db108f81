#include "compat/mxc/executor/mxc_child.h"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "base/text.h"
#include "compat/mxc/executor/measure.h"
#include "sandbox/native/host_rules.h"
#include "sandbox/native/native_backend.h"
#include "sys/sockets.h"

namespace cordon::mxc {

Result<Terminal> open_terminal(const CommandStreams& streams) {
  Terminal terminal;
  if (!streams.terminal) return terminal;
  const auto fail_with = [](int number) {
    return fail(setup_error("cannot make a terminal", number));
  };
  terminal.master = Fd(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal.master.valid() || ::unlockpt(terminal.master.get()) < 0) return fail_with(errno);
  // By the master itself: a name could lead elsewhere.
  terminal.slave = Fd(::ioctl(terminal.master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal.slave.valid()) return fail_with(errno);
  const winsize window{streams.rows, streams.columns, 0, 0};
  termios settings{};
  if (::ioctl(terminal.master.get(), TIOCSWINSZ, &window) < 0 ||
      ::tcgetattr(terminal.slave.get(), &settings) < 0) {
    return fail_with(errno);
  }
  settings.c_cc[VSUSP] = _POSIX_VDISABLE;
  if (::tcsetattr(terminal.slave.get(), TCSANOW, &settings) < 0) return fail_with(errno);
  return terminal;
}

namespace {

// The executors need hundredths of a second.
constexpr int kStartMilliseconds = 10'000;

std::string describe_status(int status) {
  if (WIFSIGNALED(status)) return "by " + signal_name(WTERMSIG(status));
  return "with status " + std::to_string(WEXITSTATUS(status));
}

Error executor_error(std::string what) {
  return setup_error(std::move(what), 0,
                     "the command was not started; without --json standard error has what the "
                     "executor says");
}

Error confine_error(const Plan& plan, const native::CommandReport& report) {
  // The file that shows Landlock at work is there in the init's root, and in no other.
  if (report.stage == native::Stage::Seal && report.error == EEXIST) {
    return executor_error("the executor made no root of its own");
  }
  Error error = setup_error("confining the command inside the executor's sandbox failed",
                            report.error, "see cordon doctor");
  const bool confining = report.stage == native::Stage::Confine;
  if (confining && report.index < plan.confine.size()) {
    error.operation = describe(plan.confine[report.index]);
  }
  // The program inside counts the rules alone.
  std::uint32_t rule = 0;
  for (const Op& operation : plan.build) {
    if (!std::holds_alternative<op::LandlockAllow>(operation)) continue;
    if (report.stage == native::Stage::Build && rule++ == report.index) {
      error.operation = describe(operation);
    }
  }
  return error;
}

// One report, with the process that wrote it as the kernel knows it.
std::optional<MxcChild::Waiting> receive_report(int socket) {
  MxcChild::Waiting waiting{};
  iovec part{&waiting.report, sizeof waiting.report};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  if (::recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) !=
      static_cast<ssize_t>(sizeof waiting.report)) {
    return std::nullopt;
  }
  const cmsghdr* found = CMSG_FIRSTHDR(&header);
  if (found == nullptr || found->cmsg_type != SCM_CREDENTIALS) return std::nullopt;
  ucred sender{};
  std::memcpy(&sender, CMSG_DATA(found), sizeof sender);
  waiting.command = sender.pid;
  return waiting;
}

}  // namespace

MxcChild::MxcChild(const Plan& plan, const sys::CloneResult& init, Fd channel, Fd report,
                   native::Cgroup cgroup)
    : plan_(plan),
      pid_(init.pid),
      pidfd_(init.pidfd),
      channel_(std::move(channel)),
      report_(std::move(report)),
      cgroup_(std::move(cgroup)) {}

MxcChild::~MxcChild() {
  kill_and_wait();
  cgroup_.remove();
}

ChildEvent MxcChild::event() {
  if (ended_) return *ended_;
  InitMessage message;
  const ssize_t got = ::recv(channel_.get(), &message, sizeof message, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return ChildRuns{};
  if (got != static_cast<ssize_t>(sizeof message)) return ChildLost{};
  switch (message.kind) {
    case InitMessage::Kind::Memory:
      ipc_memory_ = message.ipc_bytes;
      return ChildRuns{};
    case InitMessage::Kind::Ended:
      // Only a command that never became its program left a report.
      if (const auto left = receive_report(report_.get())) {
        return native::command_error(plan_, left->report.error);
      }
      ended_ = ChildEnd{message.wait_status, {message.cpu_us / 1000, message.max_rss_bytes}};
      return *ended_;
    case InitMessage::Kind::NotBuilt:
    case InitMessage::Kind::NotStarted:
      break;
  }
  return ChildLost{};
}

// Not by way of the executor: what it does with a signal is its own affair, and it would end before
// the command had its second.
void MxcChild::signal(int number) {
  if (pid_namespace_ != 0) signal_namespace(pid_namespace_, number);
}

void MxcChild::kill_and_wait() {
  if (!pidfd_.valid()) return;
  (void)cgroup_.kill();
  sys::pidfd_send_signal(pidfd_.get(), SIGKILL);
  while (sys::wait_pidfd(pidfd_.get(), usage_) == -EINTR) {
  }
  pidfd_.reset();
}

std::vector<Denial> MxcChild::denials() {
  std::vector<Denial> found;
  const native::Cgroup::Events events = cgroup_.events();
  peak_memory_ = events.peak_memory;
  if (events.pids_refused > 0) {
    found.push_back({"pids", "EAGAIN at " + bound("pids"), "cgroup", events.pids_refused});
  }
  if (auto denial = native::memory_denial(events.memory, bound("memory"))) {
    found.push_back(std::move(*denial));
  }
  return found;
}

Usage MxcChild::tree_usage() const { return {usage_.cpu_us / 1000, usage_.max_rss_bytes}; }

std::string MxcChild::bound(const std::string& name) const {
  for (const PlannedLimit& limit : plan_.limits) {
    if (limit.name == name) return describe(limit);
  }
  return name;
}

Result<MxcChild::Waiting> MxcChild::wait_for_program() {
  pollfd polled[] = {{report_.get(), POLLIN, 0}, {channel_.get(), POLLIN, 0}};
  while (polled[1].revents == 0) {
    const int ready = ::poll(polled, std::size(polled), kStartMilliseconds);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return fail(setup_error("cannot wait for the executor", errno));
    if (ready == 0) {
      return fail(executor_error("the executor did not start the command within " +
                                 format_duration(kStartMilliseconds)));
    }
    if (polled[0].revents == 0) continue;
    const auto waiting = receive_report(report_.get());
    if (waiting && waiting->report.error == 0) return *waiting;
    if (waiting) return fail(confine_error(plan_, waiting->report));
    // Nobody is left who could: the init tells what became of the executor.
    polled[0].fd = -1;
  }
  InitMessage message;
  if (::recv(channel_.get(), &message, sizeof message, MSG_DONTWAIT) !=
      static_cast<ssize_t>(sizeof message)) {
    return fail(setup_error("the init of the executor ended", 0));
  }
  if (message.kind == InitMessage::Kind::NotBuilt) {
    Error error =
        setup_error("building the executor's view failed", message.error, "see cordon doctor");
    if (message.index < plan_.build.size()) {
      error.operation = describe(plan_.build[message.index]);
      native::name_cause(plan_.build[message.index], error);
    }
    return fail(std::move(error));
  }
  if (message.kind == InitMessage::Kind::NotStarted) {
    return fail(setup_error("the executor cannot be executed", message.error,
                            "is it one for this machine?"));
  }
  return fail(executor_error("the executor ended " + describe_status(message.wait_status) +
                             " before it started the command"));
}

Result<void> MxcChild::order(const InitOrder& order, int passed) const {
  const std::span<const int> descriptors(&passed, passed >= 0 ? 1 : 0);
  if (sys::send_passing(channel_.get(), &order, sizeof order, descriptors) < 0) {
    return fail(setup_error("the init of the executor is gone", errno));
  }
  return {};
}

}  // namespace cordon::mxc
