// The spawner is an ordinary command of the sandbox: everything that holds a command holds it, and
// what it starts inherits all of that, the filter with its one listener included. So a command of a
// session costs a fork and an exec, and there is no second way to confine one.
//
//   spawner ── keeper ── command ── ...        one keeper for each command
//
// A keeper is the parent of one command and takes over every process that the command leaves behind
// (PR_SET_CHILD_SUBREAPER), whatever session or group it moves to. So at a limit, or when whoever
// asked for the command is gone, everything that came of this command can be found and ended, and
// nothing that came of another one. When the command has ended by itself, its keeper stays for as
// long as something runs in the background.
//
// Commands of one session are not protected from each other: they share files, home and network.
// They cannot read or write the memory of spawner and keepers, which are not dumpable. One that
// kills the spawner ends the session, which is its own.
#include "sandbox/session/spawner.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "host/inspect.h"
#include "sandbox/session/protocol.h"
#include "sys/calls.h"
#include "sys/sockets.h"

namespace cordon::session {
namespace {

// More than the kernel takes for arguments and environment together.
constexpr std::uint64_t kMostWords = std::uint64_t{8} << 20U;

struct Words {
  std::string cwd;
  std::vector<std::string> environment;
  std::vector<std::string> argv;
};

std::optional<Words> read_words(int memory, std::uint64_t size) {
  if (size > kMostWords) return std::nullopt;
  const auto bytes = read_all(memory, size);
  if (!bytes || bytes->size() != size || bytes->empty() || bytes->back() != '\0') {
    return std::nullopt;
  }
  const std::vector<std::string_view> parts =
      split(std::string_view(*bytes).substr(0, bytes->size() - 1), '\0');
  Words words;
  words.cwd = parts.front();
  std::size_t next = 1;
  for (; next < parts.size() && !parts[next].empty(); ++next) {
    words.environment.emplace_back(parts[next]);
  }
  for (++next; next < parts.size(); ++next) words.argv.emplace_back(parts[next]);
  if (words.argv.empty() || words.argv.front().empty()) return std::nullopt;
  return words;
}

// Tries each directory of PATH as execvp would, without its fall back to a shell. Returns why none
// was executed: a file that is there and cannot be run wins over "not found".
int execute(const std::string& program, char* const* argv) {
  if (program.find('/') != std::string::npos) {
    ::execve(program.c_str(), argv, environ);
    return errno == ENOENT && ::access(program.c_str(), F_OK) == 0 ? ELIBACC : errno;
  }
  const char* path = std::getenv("PATH");
  int error = ENOENT;
  for (const std::string_view place : split(std::string_view(path != nullptr ? path : ""), ':')) {
    if (!place.starts_with('/')) continue;
    const std::string candidate = std::string(place) + "/" + program;
    ::execve(candidate.c_str(), argv, environ);
    if (errno == ENOENT || errno == ENOTDIR) {
      if (errno == ENOENT && ::access(candidate.c_str(), F_OK) == 0) return ELIBACC;
      continue;
    }
    if (errno != EACCES) return errno;
    error = EACCES;
  }
  return error;
}

// Why a command was not started, through a pipe that closes when it was.
struct NotStarted {
  std::int32_t error = 0;
  std::int32_t at_cwd = 0;
};

struct Becoming {
  const Words& words;
  const std::array<Fd, 3>& streams;
  int report;
};

// In the memory of the keeper, which waits for the report meanwhile: nothing is copied for a
// process that is about to be replaced. Descriptors and directory are its own; the environment,
// which becomes the command's, is nothing that the keeper reads.
int become(void* argument) {
  const auto& [words, streams, report] = *static_cast<const Becoming*>(argument);
  const auto fail = [&](int error, bool at_cwd) {
    const NotStarted why{error, at_cwd ? 1 : 0};
    [[maybe_unused]] const ssize_t told = ::write(report, &why, sizeof why);
    return 125;
  };
  ::setsid();
  for (int i = 0; i < 3; ++i) {
    if (::dup2(streams[static_cast<std::size_t>(i)].get(), i) < 0) return fail(errno, false);
  }
  if (!words.cwd.empty() && ::chdir(words.cwd.c_str()) < 0) return fail(errno, true);
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (const int signal : {SIGCHLD, SIGPIPE}) ::sigaction(signal, &action, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const std::string& variable : words.environment) {
    ::putenv(const_cast<char*>(variable.c_str()));
  }
  std::vector<char*> argv;
  for (const std::string& word : words.argv) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  return fail(execute(words.argv.front(), argv.data()), false);
}

// The parent of every process, from /proc; zombies are left out.
std::map<pid_t, pid_t> parents() {
  std::map<pid_t, pid_t> found;
  DIR* directory = ::opendir("/proc");
  if (directory == nullptr) return found;
  while (const dirent* entry = ::readdir(directory)) {
    const auto number = parse_number(entry->d_name);
    if (!number) continue;
    const Fd file(
        ::open(("/proc/" + std::string(entry->d_name) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 512> text{};
    const ssize_t got = file.valid() ? ::read(file.get(), text.data(), text.size() - 1) : -1;
    if (got <= 0) continue;
    // "PID (NAME) STATE PARENT ...": a name may hold anything, so the last bracket counts.
    const char* behind = std::strrchr(text.data(), ')');
    if (behind == nullptr || std::strlen(behind) < 5 || behind[2] == 'Z') continue;
    found[static_cast<pid_t>(*number)] = static_cast<pid_t>(std::atol(behind + 4));
  }
  ::closedir(directory);
  return found;
}

// The children of this process, those that it took over included. Unlike the list of all processes
// this shows one that made itself undumpable, which /proc hides from its own user. Empty on a
// kernel without it.
std::vector<pid_t> children() {
  const std::string path = "/proc/self/task/" + std::to_string(::getpid()) + "/children";
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<pid_t> found;
  const auto text = file.valid() ? read_all(file.get(), std::size_t{1} << 20U) : std::nullopt;
  if (!text) return found;
  for (const std::string_view word : split(*text, ' ')) {
    if (const auto number = parse_number(word)) found.push_back(static_cast<pid_t>(*number));
  }
  return found;
}

std::vector<pid_t> descendants() {
  const std::map<pid_t, pid_t> all = parents();
  const auto is_below = [&](pid_t pid) {
    for (std::size_t steps = 0; steps < all.size(); ++steps) {
      const auto found = all.find(pid);
      if (found == all.end()) return false;
      pid = found->second;
      if (pid == ::getpid()) return true;
    }
    return false;
  };
  std::vector<pid_t> below;
  for (const auto& [pid, parent] : all) {
    if (is_below(pid)) below.push_back(pid);
  }
  return below;
}

class Keeper {
 public:
  explicit Keeper(Fd channel) : channel_(std::move(channel)) {}

  [[noreturn]] void keep(std::array<Fd, 3> streams) {
    sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &action, nullptr);
    ::sigprocmask(SIG_BLOCK, &child, nullptr);
    signals_ = Fd(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_.valid() || ::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL) < 0) {
      fail({errno, 0});
    }
    start(streams);
    for (Fd& stream : streams) stream.reset();
    for (;;) wait();
  }

 private:
  void send(const ExecMessage& message) const {
    if (channel_.valid()) ::send(channel_.get(), &message, sizeof message, MSG_NOSIGNAL);
  }

  [[noreturn]] void fail(const NotStarted& why) const {
    ExecMessage message;
    message.kind = ExecMessage::Kind::Failed;
    message.error = why.error;
    message.at_cwd = why.at_cwd;
    send(message);
    ::_exit(0);
  }

  void start(const std::array<Fd, 3>& streams) {
    ExecOrder order;
    sys::Passed passed;
    if (sys::receive_passing(channel_.get(), &order, sizeof order, passed) != sizeof order) {
      ::_exit(0);  // whoever asked is gone
    }
    const Fd memory(passed.count > 0 ? passed.descriptors[0] : -1);
    const auto words = order.kind == ExecOrder::Kind::Start && memory.valid()
                           ? read_words(memory.get(), order.size)
                           : std::nullopt;
    if (!words) fail({EINVAL, 0});
    int report[2];
    if (::pipe2(report, O_CLOEXEC) < 0) fail({errno, 0});
    const Fd reading(report[0]);
    Fd writing(report[1]);
    constexpr std::size_t kStack = std::size_t{64} << 10U;
    const std::unique_ptr<char[]> stack(new char[kStack]);  // NOLINT(modernize-avoid-c-arrays)
    Becoming becoming{*words, streams, writing.get()};
    command_ = sys::share_process(become, &becoming, stack.get(), kStack);
    if (command_ < 0) fail({-command_, 0});
    writing.reset();
    NotStarted why;
    ssize_t got = 0;
    do {
      got = ::read(reading.get(), &why, sizeof why);
    } while (got < 0 && errno == EINTR);
    if (got == sizeof why) fail(why);
  }

  void wait() {
    pollfd polled[] = {{signals_.get(), POLLIN, 0}, {channel_.get(), POLLIN, 0}};
    if (::poll(polled, channel_.valid() ? 2 : 1, ending_ ? kLookMilliseconds : -1) < 0) return;
    signalfd_siginfo info;
    while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    }
    if (channel_.valid() && polled[1].revents != 0) obey();
    reap();
    if (ending_) {
      // Whatever these leave becomes a child of this process, and is met at the next look.
      signal_all(SIGKILL);
      reap();
    }
  }

  void obey() {
    ExecOrder order;
    const ssize_t got = ::recv(channel_.get(), &order, sizeof order, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got != static_cast<ssize_t>(sizeof order)) {
      // Whoever asked for the command is gone. One that has ended may leave processes behind; one
      // that has not ends with him.
      channel_.reset();
      ending_ = ending_ || !ended_;
      return;
    }
    if (order.kind == ExecOrder::Kind::Signal) signal_all(order.signal);
    if (order.kind == ExecOrder::Kind::End) ending_ = true;
  }

  static void signal_all(int signal) {
    std::vector<pid_t> all = descendants();
    for (const pid_t child : children()) {
      if (std::ranges::find(all, child) == all.end()) all.push_back(child);
    }
    for (const pid_t pid : all) ::kill(pid, signal);
  }

  void reap() {
    for (;;) {
      int status = 0;
      rusage usage{};
      const pid_t pid = ::wait4(-1, &status, WNOHANG, &usage);
      if (pid < 0 && errno == EINTR) continue;
      if (pid < 0) finish();
      if (pid == 0) return;
      if (pid != command_) continue;
      const auto micro = [](const timeval& time) {
        return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
               static_cast<std::uint64_t>(time.tv_usec);
      };
      ended_ = ExecMessage();
      ended_->kind = ExecMessage::Kind::Ended;
      ended_->wait_status = status;
      ended_->cpu_us = micro(usage.ru_utime) + micro(usage.ru_stime);
      ended_->max_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
      if (!ending_) tell_end();
    }
  }

  void tell_end() {
    if (ended_ && !told_) send(*ended_);
    told_ = true;
  }

  // No process is left that came of the command.
  [[noreturn]] void finish() {
    tell_end();
    ::_exit(0);
  }

  static constexpr int kLookMilliseconds = 5;

  Fd channel_;
  Fd signals_;
  pid_t command_ = -1;
  bool ending_ = false;
  bool told_ = false;
  std::optional<ExecMessage> ended_;
};

}  // namespace

int spawn_inside() {
  // Else a command could read and write this process through /proc.
  if (::prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL) < 0) return 125;
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  // Keepers that end are nobody's to wait for.
  for (const int signal : {SIGCHLD, SIGPIPE}) ::sigaction(signal, &action, nullptr);
  if (::fcntl(STDIN_FILENO, F_SETFD, FD_CLOEXEC) < 0) return 125;
  for (;;) {
    SpawnOrder order;
    sys::Passed passed;
    const ssize_t got = sys::receive_passing(STDIN_FILENO, &order, sizeof order, passed);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof order) return 0;  // the session is over
    std::array<Fd, sys::kMostPassed> came;
    for (std::size_t i = 0; i < passed.count; ++i) came[i] = Fd(passed.descriptors[i]);
    if (passed.count != kSpawnDescriptors || order.version != SpawnOrder().version) continue;
    const pid_t keeper = ::fork();
    if (keeper != 0) continue;  // one that could not be made: the channel closes
    ::close(STDIN_FILENO);
    Keeper(std::move(came[0])).keep({std::move(came[1]), std::move(came[2]), std::move(came[3])});
  }
}

}  // namespace cordon::session
