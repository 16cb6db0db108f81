// How a sandbox begins and ends.
//
// Three processes take part. The supervisor is Cordon, outside. The first process is a copy of it
// in new namespaces, pid 1 of the sandbox, and it runs this file. The command's process is a child
// of the first one that shares its memory until it executes, on a stack of its own. What is here
// and in become_command.cc runs between clone and exec of a process that may have had many threads:
// a lock that one of them held is held for ever, so nothing is allocated, and everything was
// prepared before (prepared.h).
//
//   supervisor                first process                  the command's process
//
//   clone3, pins held open -> closes all but its own
//   maps the identity      -> Plan::build, step by step
//   makes v1 groups        -> shares a process            -> joins the groups
//                          <- Places, Terminal               Plan::confine
//                             reads the mounts back          tries what must be refused
//                             Plan::seal                  <- its report
//                             reads the rest back            waits
//                          <- Confined, the listener
//   compares with the plan
//   one byte               -----------------------------> executes
//
// Nothing of the command runs before that byte, and the byte comes only after what was read back
// agrees with the plan. The reading is done by the first process, of a command that is confined
// already and still waits: it has every layer that it will have, and no instruction of the program
// was executed. A step that fails, here or there, is told by its stage and the index of the
// operation, so that the error names it as --dry-run does, and ends everything.
//
// The order has three reasons. The root is sealed after the command's report, because the file on
// which its Landlock was tried lies there and is removed first. Capabilities go after the
// measuring, which needs them for a command that kept some. And this process becomes undumpable
// last but before the release: earlier, the kernel would give the files by which the identity is
// mapped to root, and the command, which shares this memory, could not be looked at; later, the
// command could write this process through /proc/1/mem.
//
// Whatever ends the first process ends the sandbox: the kernel kills what is left of a pid
// namespace whose pid 1 is gone. So it is enough that this process ends when the supervisor does,
// and it cannot miss that: the other end of its channel closes with the supervisor, whatever ended
// that. When the command ends, everything else is killed and waited for before its end is told:
// what is counted then is all that the tree used, and nobody is left who could write.

#include "sandbox/native/sandbox_init.h"

#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <initializer_list>
#include <iterator>

#include "base/fd.h"
#include "sandbox/native/become_command.h"
#include "sandbox/native/build.h"
#include "sandbox/native/confine.h"
#include "sandbox/native/process_status.h"
#include "sandbox/native/protocol.h"
#include "sandbox/native/verify.h"
#include "sys/calls.h"
#include "sys/landlock.h"
#include "sys/notify.h"
#include "sys/sockets.h"

namespace cordon::native {

int resource_of(std::string_view name) {
  if (name == "nofile") return RLIMIT_NOFILE;
  if (name == "nproc") return RLIMIT_NPROC;
  if (name == "data") return RLIMIT_DATA;
  if (name == "fsize") return RLIMIT_FSIZE;
  if (name == "cpu") return RLIMIT_CPU;
  if (name == "core") return RLIMIT_CORE;
  return -1;
}

void default_signals() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (const int signal : {SIGCHLD, SIGPIPE, SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    ::sigaction(signal, &action, nullptr);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool end_the_rest(TreeUsage& used) {
  ::kill(-1, SIGKILL);
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
  // Anything else than "no child is left" means that one may live.
  if (errno != ECHILD) return false;
  rusage usage{};
  if (::getrusage(RUSAGE_CHILDREN, &usage) < 0) return true;
  const auto micro = [](const timeval& t) {
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(t.tv_usec);
  };
  used.cpu_us = micro(usage.ru_utime) + micro(usage.ru_stime);
  used.max_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  return true;
}

namespace {

// The order in which the descriptors of a bind are passed; the directory may be left out.
constexpr std::size_t kSocket = 0;
constexpr std::size_t kAnswer = 1;
constexpr std::size_t kDirectory = 2;

// A bind takes microseconds: what takes longer has been stopped or is starved.
constexpr int kBindMilliseconds = 5000;

int make_call(const Order& order, const sys::Passed& passed, int ruleset) {
  // The kernel wants zeros, and an int would leave the upper half of a register as it was.
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) < 0) return errno;
  if (ruleset >= 0) {
    if (const int error = sys::landlock_restrict_self(ruleset); error < 0) return -error;
  }
  ::umask(order.mask);
  if (passed.count > kDirectory && ::fchdir(passed.descriptors[kDirectory]) < 0) return errno;
  const auto* address = reinterpret_cast<const sockaddr*>(order.address.data());
  const int result = ::bind(passed.descriptors[kSocket], address, order.address_size);
  return result < 0 ? errno : 0;
}

void tell(int pipe, std::int32_t error) {
  [[maybe_unused]] const ssize_t told = ::write(pipe, &error, sizeof error);
}

}  // namespace

void bind_in_sandbox(const Order& order, const sys::Passed& passed, int ruleset) {
  if (passed.count > kAnswer && order.address_size <= order.address.size()) {
    const sys::CloneResult child = sys::clone_process(0, -1);
    if (child.pid == 0) {
      tell(passed.descriptors[kAnswer], make_call(order, passed, ruleset));
      ::_exit(0);
    }
    if (child.pid < 0) {
      tell(passed.descriptors[kAnswer], -child.pid);
    } else {
      ::close(child.pidfd);
    }
  }
  for (std::size_t i = 0; i < passed.count; ++i) ::close(passed.descriptors[i]);
}

int ask_for_bind(int channel, int socket, int directory, const Order& order) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) < 0) return errno;
  const Fd answer(pipe[0]);
  Fd theirs(pipe[1]);
  const std::array<int, kBindDescriptors> passed = {socket, theirs.get(), directory};
  const std::size_t count = directory < 0 ? kDirectory : passed.size();
  if (sys::send_passing(channel, &order, sizeof order, {passed.data(), count}) < 0) return EACCES;
  theirs.reset();
  pollfd polled{answer.get(), POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&polled, 1, kBindMilliseconds);
  } while (ready < 0 && errno == EINTR);
  std::int32_t error = EACCES;
  const bool told = ready == 1 && ::read(answer.get(), &error, sizeof error) == sizeof error;
  return told ? error : EACCES;
}

namespace {

[[noreturn]] void end() { ::_exit(125); }

// A supervisor that does not hear what happens here must not go on believing; it sees this end.
void send(const Message& message) {
  ssize_t sent = 0;
  do {
    sent = ::send(kChannelFd, &message, sizeof message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent != static_cast<ssize_t>(sizeof message)) end();
}

[[noreturn]] void give_up(Stage stage, std::uint32_t index, int error) {
  Message message;
  message.kind = Message::Kind::Failed;
  message.stage = stage;
  message.index = index;
  message.error = error;
  send(message);
  end();
}

// Puts the given descriptors at their fixed numbers and closes everything else: the caller's other
// files must not even be open in the sandbox's first process.
void arrange(const SandboxInitFds& fds) {
  const int wanted[] = {fds.in, fds.out, fds.err, fds.channel, fds.release};
  int high[kLastFixedFd + 1];
  for (int i = 0; i <= kLastFixedFd; ++i) high[i] = ::fcntl(wanted[i], F_DUPFD_CLOEXEC, 64);
  for (int i = 0; i <= kLastFixedFd; ++i) {
    if (::dup3(high[i], i, i > STDERR_FILENO ? O_CLOEXEC : 0) < 0) end();
  }
  if (sys::close_range(kLastFixedFd + 1, UINT_MAX) < 0) end();
}

void wait_for_identity() {
  Order order;
  if (::recv(kChannelFd, &order, sizeof order, 0) != sizeof order ||
      order.kind != Order::Kind::IdentityMapped) {
    end();
  }
}

// The supervisor makes the groups of this run while the root is built here.
void receive_groups(const Prepared& prepared, CommandStart& start) {
  start.groups.fill(-1);
  if (prepared.groups == 0) return;
  Order order;
  sys::Passed groups;
  const ssize_t got = sys::receive_passing(kChannelFd, &order, sizeof order, groups);
  if (got != sizeof order || order.kind != Order::Kind::JoinGroups ||
      groups.count != prepared.groups) {
    end();
  }
  std::copy_n(groups.descriptors.begin(), groups.count, start.groups.begin());
}

// Opens a pty of the sandbox's own devpts, keeps its slave as the command's streams and hands the
// master to the supervisor.
int open_terminal(const Prepared& prepared) {
  const int master = ::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0) return -errno;
  int unlock = 0;
  if (::ioctl(master, TIOCSPTLCK, &unlock) < 0) return -errno;
  const int slave = ::ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (slave < 0) return -errno;
  // Before the command exists, so that it never sees another size.
  if (::ioctl(master, TIOCSWINSZ, &prepared.window) < 0) return -errno;
  for (int fd = 0; fd <= STDERR_FILENO; ++fd) {
    if (::dup2(slave, fd) < 0) return -errno;
  }
  ::close(slave);
  // A runtime has made its container's first process the leader of a session already.
  const bool leads = ::getsid(0) == ::getpid() || ::setsid() >= 0;
  if (!leads || ::ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0) return -errno;

  Message message;
  message.kind = Message::Kind::Terminal;
  const ssize_t sent = sys::send_passing(kChannelFd, &message, sizeof message, {&master, 1});
  ::close(master);
  return sent < 0 ? -errno : 0;
}

// Hands the private home, /tmp and the like to the supervisor, which tells at the end what is gone
// with them. The command cannot have been there yet, so these are the directories themselves.
void offer_places(const Prepared& prepared) {
  Message message;
  message.kind = Message::Kind::Places;
  static_assert(kGonePlaces <= sys::kMostPassed);
  std::array<int, kGonePlaces> opened{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < kGonePlaces; ++i) {
    if (prepared.places[i] == nullptr) continue;
    const int place = ::open(prepared.places[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (place < 0) give_up(Stage::Seal, 0, errno);
    opened[count++] = place;
    message.index |= 1U << i;
  }
  if (count == 0) return;
  if (sys::send_passing(kChannelFd, &message, sizeof message, {opened.data(), count}) !=
      static_cast<ssize_t>(sizeof message)) {
    end();
  }
  for (std::size_t i = 0; i < count; ++i) ::close(opened[i]);
}

// Reads the command's report; a closed pipe means that its program was started. True if one came.
bool receive(int fd, CommandReport& report) {
  ssize_t got = 0;
  do {
    got = ::read(fd, &report, sizeof report);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof report);
}

void build(const Prepared& prepared, Builder builder, BuildState& state) {
  std::uint32_t index = 0;
  for (const Op& operation : prepared.plan->build) {
    if (const int error = builder(operation, prepared, state); error < 0) {
      give_up(Stage::Build, index, -error);
    }
    ++index;
  }
}

// Says that the command waits. The descriptors of the supervisor's broker go with it: the listener
// is taken from the command, whose own copy closes when it executes. So does its end of the source
// of sockets, where ports are published.
void say_confined(const Message& message, int listener, BuildState& state) {
  int passed[sys::kMostPassed];
  std::size_t count = 0;
  for (const int fd :
       {listener, state.resolver_datagrams, state.resolver_streams, state.socket_taker}) {
    if (fd >= 0) passed[count++] = fd;
  }
  if (count == 0) {
    send(message);
    return;
  }
  if (sys::send_passing(kChannelFd, &message, sizeof message, {passed, count}) !=
      static_cast<ssize_t>(sizeof message)) {
    end();
  }
  for (std::size_t i = 0; i < count; ++i) ::close(passed[i]);
}

// The listener of the command's filter; negative if it has none.
int take_listener(pid_t command, const CommandReport& report) {
  if (report.listener < 0) return -1;
  const int pidfd = sys::open_thread(command);
  const int listener = pidfd < 0 ? pidfd : sys::copy_descriptor(pidfd, report.listener);
  if (listener < 0) give_up(Stage::Seal, 0, -listener);
  ::close(pidfd);
  return listener;
}

// What the command's process cannot change any more: until its release it carries out
// Plan::confine alone, which changes no mount, and after that it has no capability. Leaves errno
// alone.
void measure_sandbox(const Prepared& prepared, Measured& measured) {
  measured.namespaces = own_namespaces();
  measure_mounts(*prepared.plan, measured);
  sys::FileStatus scratch{};
  if (prepared.scratch != nullptr && sys::status_at(prepared.scratch, scratch) == 0) {
    measured.scratch_device = scratch.device;
  }
}

void seal_and_measure(const Prepared& prepared, BuildState& state, pid_t command,
                      const CommandReport& report, const Measured& sandbox) {
  std::uint32_t index = 0;
  for (const Op& operation : prepared.plan->seal) {
    if (const int error = carry_out(operation, prepared, state); error < 0) {
      give_up(Stage::Seal, index, -error);
    }
    ++index;
  }
  Message message;
  message.measured = sandbox;
  // With capabilities still: a command that kept some could not be looked at without.
  measure_process(command, message.measured);
  const int listener = take_listener(command, report);
  // What is set up needs no capability any more, neither here.
  if (const int error = sys::drop_own_capabilities(); error < 0) {
    give_up(Stage::Seal, index, -error);
  }
  message.kind = Message::Kind::Confined;
  message.measured.landlock_read_before = report.landlock_read_before;
  message.measured.landlock_read = report.landlock_read;
  message.measured.landlock_signal = report.landlock_signal;
  message.measured.tcp_bind = report.tcp_bind;
  message.measured.refused_socket = report.refused_socket;
  message.measured.filtered_call = report.filtered_call;
  message.measured.init_pid = ::getpid();
  message.measured.inotify_bound = state.inotify_bound ? 1 : 0;
  sys::MountStatus root{};
  if (sys::mount_status("/", root) == 0) {
    message.measured.root_type = root.type;
    message.measured.root_read_only = root.read_only ? 1 : 0;
  }
  sys::FileStatus top{};
  if (sys::status_at("/", top) == 0) {
    message.measured.root_device = top.device;
    message.measured.root_inode = top.inode;
  }
  // Before the command is released: else it could read and write this process through /proc/1/mem.
  // Not earlier: before the id maps are written it would make them unwritable, and the command,
  // which shares this memory until it executes, could not be looked at.
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) give_up(Stage::Seal, index, errno);
  say_confined(message, listener, state);
}

// Whether the supervisor itself keeps the sandbox stopped: it need not be told of that.
enum class Stop { None, Ordered };

void say_stopped() {
  Message message;
  message.kind = Message::Kind::Stopped;
  send(message);
}

// An order from the supervisor, or its end: then everything ends with this process.
void obey(int ruleset, Stop& stop) {
  Order order;
  sys::Passed passed;
  if (sys::receive_passing(kChannelFd, &order, sizeof order, passed) != sizeof order) end();
  if (order.kind == Order::Kind::Bind) bind_in_sandbox(order, passed, ruleset);
  if (order.kind != Order::Kind::Signal) return;
  if (order.signal == SIGSTOP) stop = Stop::Ordered;
  if (order.signal == SIGCONT) stop = Stop::None;
  // Minus one: every process of the sandbox but this one.
  ::kill(-1, order.signal);
}

// Bounds whose errno only the program sees: told once, when they are seen reached. And memory that
// belongs to the sandbox's ipc namespace, not to a process: told whenever it changes.
class ReachedBounds {
 public:
  explicit ReachedBounds(const Prepared& prepared) : prepared_(prepared) {}

  // Milliseconds until the next look; negative if there is nothing to look at. A busy sandbox must
  // not put the look off: it wakes this process whenever one of its orphans ends.
  [[nodiscard]] int due() const {
    if (prepared_.scratch == nullptr && prepared_.process_bound == 0 && !prepared_.watch_memory) {
      return -1;
    }
    const std::int64_t left = next_ - now();
    return left > 0 ? static_cast<int>(left) : 0;
  }

  void look() {
    next_ = now() + (prepared_.watch_memory ? kMemoryMilliseconds : kMilliseconds);
    Message message;
    message.kind = Message::Kind::Reached;
    if (prepared_.scratch != nullptr && !scratch_told_ && sys::is_full(prepared_.scratch)) {
      scratch_told_ = true;
      message.scratch_full = 1;
    }
    if (prepared_.process_bound > 0 && !pids_told_ && (pids_full_ || others_fill_it())) {
      pids_told_ = true;
      message.pids_full = 1;
    }
    if (prepared_.watch_memory) message.ipc_bytes = sys::ipc_memory();
    const bool changed = message.ipc_bytes != ipc_told_;
    ipc_told_ = message.ipc_bytes;
    if (message.scratch_full != 0 || message.pids_full != 0 || changed) send(message);
  }

  // Asked of the command before it is reaped: until then the kernel counts it, and what it was
  // refused at the end is seen. Alone it stands at a bound of two whatever it does: that is told
  // only if it failed.
  void ended(const siginfo_t& info) {
    if (prepared_.process_bound == 0) return;
    const bool well = info.si_code == CLD_EXITED && info.si_status == 0;
    pids_full_ = pids_full_ || (well ? others_fill_it() : count_tasks() >= prepared_.process_bound);
  }

  // Asked of a process that a signal ended, before it is reaped.
  void killed(pid_t process, int signal) {
    Message message;
    message.kind = Message::Kind::Reached;
    message.ipc_bytes = ipc_told_;
    const bool at_cpu = prepared_.cpu_seconds > 0 && (signal == SIGKILL || signal == SIGXCPU);
    if (at_cpu && !cpu_told_ &&
        sys::processor_nanoseconds(process) / 1'000'000'000 >= prepared_.cpu_seconds) {
      cpu_told_ = true;
      message.cpu_spent = 1;
    }
    if (prepared_.file_size_bound && signal == SIGXFSZ && !file_size_told_) {
      file_size_told_ = true;
      message.file_size_full = 1;
    }
    if (message.cpu_spent != 0 || message.file_size_full != 0) send(message);
  }

 private:
  static constexpr std::int64_t kMilliseconds = 250;
  static constexpr std::int64_t kMemoryMilliseconds = 100;

  static std::int64_t now() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
  }

  // No more can be started, and there is more than this process and the command.
  [[nodiscard]] bool others_fill_it() const {
    const std::uint64_t tasks = count_tasks();
    return tasks > 2 && tasks >= prepared_.process_bound;
  }

  const Prepared& prepared_;
  bool scratch_told_ = false;
  bool pids_full_ = false;
  bool pids_told_ = false;
  bool cpu_told_ = false;
  bool file_size_told_ = false;
  std::uint64_t ipc_told_ = 0;
  std::int64_t next_ = now() + kMemoryMilliseconds;
};

// The command's status, once it has ended; others are reaped on the way.
bool reap(const Prepared& prepared, pid_t command, Stop stop, ReachedBounds& bounds,
          Message& ended) {
  const int stops = prepared.terminal ? WSTOPPED : 0;
  for (;;) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | stops | WNOHANG | WNOWAIT) < 0) {
      if (errno == EINTR) continue;
      end();  // there is a command to wait for: without its status nothing goes on
    }
    if (info.si_pid == 0) return false;
    if (info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED) {
      bounds.killed(info.si_pid, info.si_status);
    }
    if (info.si_pid == command && info.si_code != CLD_STOPPED) bounds.ended(info);
    int status = 0;
    // One that goes on meanwhile has nothing to tell any more: never wait for it.
    const pid_t pid = ::waitpid(info.si_pid, &status, WNOHANG | (stops != 0 ? WUNTRACED : 0));
    if (pid == 0 || (pid < 0 && errno == EINTR)) continue;
    if (pid < 0) end();
    if (pid != command) continue;
    if (WIFSTOPPED(status)) {
      if (stop == Stop::None) say_stopped();
      continue;
    }
    ended.kind = Message::Kind::Ended;
    ended.wait_status = status;
    return true;
  }
}

[[noreturn]] void supervise(const Prepared& prepared, pid_t command, int report_fd, int signals,
                            int ruleset, int socket_source) {
  ReachedBounds bounds(prepared);
  Stop stop = Stop::None;
  for (;;) {
    pollfd polled[] = {{kChannelFd, POLLIN, 0}, {signals, POLLIN, 0}, {socket_source, POLLIN, 0}};
    const int ready = ::poll(polled, std::size(polled), bounds.due());
    if (ready < 0) {
      if (errno == EINTR) continue;
      end();
    }
    if (bounds.due() == 0) bounds.look();
    if (polled[1].revents != 0) {
      signalfd_siginfo info;
      [[maybe_unused]] const ssize_t drained = ::read(signals, &info, sizeof info);
      Message ended;
      if (reap(prepared, command, stop, bounds, ended)) {
        // Only a command that never became its program left a report.
        CommandReport report;
        if (receive(report_fd, report)) give_up(report.stage, report.index, report.error);
        bounds.look();
        TreeUsage used;
        if (!end_the_rest(used)) end();  // the supervisor must not go on
        ended.cpu_us = used.cpu_us;
        ended.max_rss_bytes = used.max_rss_bytes;
        send(ended);
        ::_exit(0);
      }
    }
    if (polled[0].revents != 0) obey(ruleset, stop);
    if (polled[2].revents != 0 && sys::give_socket(socket_source) < 0) socket_source = -1;
  }
}

struct Command {
  const Prepared* prepared;
  CommandStart start;
};

int run_command(void* argument) {
  const auto* command = static_cast<const Command*>(argument);
  become_command(*command->prepared, command->start);
}

// Where the command's process runs until it executes. This process is a copy of the caller's, so
// one is enough however many runs the caller has going.
constexpr std::size_t kCommandStack = std::size_t{64} * 1024;
alignas(16) char command_stack[kCommandStack];

}  // namespace

void run_sandbox_init(const Prepared& prepared, const SandboxInitFds& fds, Builder builder) {
  arrange(fds);
  Command command{&prepared, {}};
  // Modes are then what the plan says; the command gets the caller's mask back.
  command.start.mask = ::umask(0);
  if (prepared.map_by == MapBy::Supervisor) wait_for_identity();
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  // Ignored by the caller, it would be inherited and make every wait answer ECHILD.
  ::sigaction(SIGCHLD, &action, nullptr);

  BuildState state;
  // While /proc is the host's, and before the capabilities go.
  if (!prepared.shares_host) state.inotify_bound = bound_inotify() == 0;
  if (const int error = bound_signals(); error < 0) give_up(Stage::Build, 0, -error);
  build(prepared, builder, state);
  offer_places(prepared);
  if (prepared.terminal) {
    if (const int error = open_terminal(prepared); error < 0) give_up(Stage::Seal, 0, -error);
  }
  sigset_t child_signal;
  ::sigemptyset(&child_signal);
  ::sigaddset(&child_signal, SIGCHLD);
  const int signals = ::signalfd(-1, &child_signal, SFD_CLOEXEC);
  int report_pipe[2];
  if (signals < 0 || ::pipe2(report_pipe, O_CLOEXEC) < 0) give_up(Stage::Seal, 0, errno);
  command.start.report = report_pipe[1];
  command.start.ruleset = state.ruleset;
  receive_groups(prepared, command.start);
  const pid_t pid = sys::share_process(run_command, &command, command_stack, kCommandStack);
  if (pid < 0) give_up(Stage::Confine, 0, -pid);

  // The command confines itself now; until it reports, nothing here may fail and set errno. On a
  // second processor the mounts are read back meanwhile.
  ::close(report_pipe[1]);
  Measured sandbox;
  measure_sandbox(prepared, sandbox);
  CommandReport report;
  if (!receive(report_pipe[0], report)) give_up(Stage::Confine, 0, EPIPE);
  if (report.error != 0) give_up(report.stage, report.index, report.error);
  ::close(kReleaseFd);
  for (int fd = 0; fd <= STDERR_FILENO; ++fd) ::close(fd);  // else their readers wait for us too
  for (const int group : command.start.groups) {
    if (group >= 0) ::close(group);
  }
  seal_and_measure(prepared, state, pid, report, sandbox);
  supervise(prepared, pid, report_pipe[0], signals, state.ruleset, state.socket_source);
}

}  // namespace cordon::native
