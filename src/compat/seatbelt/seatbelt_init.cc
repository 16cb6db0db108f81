#include "compat/seatbelt/seatbelt_init.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <memory>

#include "base/text.h"
#include "sandbox/native/native_backend.h"
#include "sandbox/native/sandbox_init.h"

namespace cordon::seatbelt {
namespace {

#ifdef __APPLE__
constexpr std::uint64_t kRssUnit = 1;
#else
constexpr std::uint64_t kRssUnit = 1024;
#endif

// Everything below runs in copies of the caller's process: no allocation.

struct Prepared {
  char* const* argv;
  char* const* environment;
  const Start& start;
  int highest;  // descriptor that may be open
  int channel;
  int told;  // where a failed execution is told
};

int wake_descriptor = -1;

void wake(int) {
  const int before = errno;
  const char byte = 0;
  (void)!::write(wake_descriptor, &byte, 1);
  errno = before;
}

[[noreturn]] void tell_failure(int told) {
  const int number = errno;
  (void)!::write(told, &number, sizeof number);
  ::_exit(126);
}

[[noreturn]] void become(const Prepared& prepared) {
  native::default_signals();
  // Out of the way of the three that are to be put into their places.
  const int above = std::max(prepared.highest, STDERR_FILENO) + 1;
  const int told = ::fcntl(prepared.told, F_DUPFD_CLOEXEC, above);
  if (told < 0 || ::setsid() < 0) tell_failure(prepared.told);
  const int null = ::open("/dev/null", O_RDWR);
  std::array<int, 3> streams{prepared.start.in, prepared.start.out, prepared.start.err};
  for (int& stream : streams) {
    stream = ::fcntl(stream < 0 ? null : stream, F_DUPFD, above);
    if (stream < 0) tell_failure(told);
  }
  for (int i = 0; i < 3; ++i)
    if (::dup2(streams[static_cast<std::size_t>(i)], i) < 0) tell_failure(told);
  for (int fd = 3; fd <= std::max(streams[2], told); ++fd)
    if (fd != told) ::close(fd);
  for (const Start::Bound& bound : prepared.start.bounds) {
    const rlimit limit{bound.value, bound.value};
    if (::setrlimit(static_cast<decltype(RLIMIT_CPU)>(bound.resource), &limit) < 0) {
      tell_failure(told);
    }
  }
  if (::chdir(prepared.start.cwd.c_str()) < 0) tell_failure(told);
  ::execve(prepared.argv[0], prepared.argv, prepared.environment);
  tell_failure(told);
}

// The leader is waited for only afterwards: until then nobody else can have its number.
void end_group(pid_t leader) {
  ::kill(-leader, SIGKILL);
  ::kill(leader, SIGKILL);
}

std::uint64_t microseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(time.tv_usec);
}

Ended reap(pid_t leader) {
  Ended ended;
  rusage usage{};
  while (::wait4(leader, &ended.wait_status, 0, &usage) < 0 && errno == EINTR) {
  }
  ended.cpu_us = microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
  ended.max_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * kRssUnit;
  return ended;
}

bool has_ended(pid_t leader) {
  siginfo_t found{};
  return ::waitid(P_PID, static_cast<id_t>(leader), &found, WEXITED | WNOHANG | WNOWAIT) < 0 ||
         found.si_pid == leader;
}

[[noreturn]] void keep(const Prepared& prepared) {
  std::array<int, 2> woken{-1, -1};
  struct sigaction action {};
  action.sa_handler = wake;
  if (::setpgid(0, 0) < 0 || ::pipe(woken.data()) < 0) tell_failure(prepared.told);
  wake_descriptor = woken[1];
  ::fcntl(woken[0], F_SETFL, O_NONBLOCK);
  ::fcntl(woken[1], F_SETFL, O_NONBLOCK);
  native::default_signals();
  ::sigaction(SIGCHLD, &action, nullptr);
  const pid_t leader = ::fork();
  if (leader < 0) tell_failure(prepared.told);
  if (leader == 0) become(prepared);
  for (int fd = 0; fd <= prepared.highest; ++fd)
    if (fd != prepared.channel && fd != woken[0] && fd != woken[1]) ::close(fd);
  std::array<pollfd, 2> waited{pollfd{prepared.channel, POLLIN, 0}, pollfd{woken[0], POLLIN, 0}};
  for (;;) {
    if (::poll(waited.data(), waited.size(), -1) < 0 && errno != EINTR) break;
    std::array<char, 64> bytes{};
    while (::read(woken[0], bytes.data(), bytes.size()) > 0) {
    }
    if (has_ended(leader)) break;
    if (waited[0].revents == 0) continue;
    unsigned char number = 0;
    const ssize_t got = ::read(prepared.channel, &number, 1);
    if (got == 0 || (got < 0 && errno != EINTR)) break;
    if (got == 1) ::kill(-leader, number);
    waited[0].revents = 0;
  }
  end_group(leader);
  const Ended ended = reap(leader);
  (void)!::write(prepared.channel, &ended, sizeof ended);
  ::_exit(0);
}

// Of this process, as far as it can be seen; what is opened meanwhile closes itself on execution.
Result<int> highest_descriptor() {
  const std::unique_ptr<DIR, int (*)(DIR*)> list(::opendir("/dev/fd"), ::closedir);
  if (!list) return fail(setup_error("cannot list the open descriptors", errno));
  int highest = 2;
  while (const dirent* entry = ::readdir(list.get())) {
    const std::string_view name(entry->d_name);
    int number = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), number).ec == std::errc())
      highest = std::max(highest, number);
  }
  return highest;
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

Result<std::array<Fd, 2>> pair() {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) < 0) {
    return fail(setup_error("cannot make a socket pair", errno));
  }
  for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
  return std::array<Fd, 2>{Fd(ends[0]), Fd(ends[1])};
}

}  // namespace

Result<Kept> start(const Start& wanted) {
  CORDON_TRY(channel, pair());
  CORDON_TRY(told, pair());
  CORDON_TRY(highest, highest_descriptor());
  const std::vector<char*> argv = pointers(wanted.argv);
  const std::vector<char*> environment = pointers(wanted.environment);
  const Prepared prepared{argv.data(), environment.data(), wanted,
                          highest,     channel[1].get(),   told[1].get()};
  Kept kept;
  {
    const native::SignalsBlocked blocked;
    kept.init = ::fork();
    if (kept.init == 0) keep(prepared);
  }
  if (kept.init < 0) return fail(setup_error("cannot start a process", errno));
  kept.channel = std::move(channel[0]);
  channel[1].reset();
  told[1].reset();
  int number = 0;
  ssize_t got = 0;
  while ((got = ::read(told[0].get(), &number, sizeof number)) < 0 && errno == EINTR) {
  }
  if (got == 0) return kept;
  const int why = got > 0 ? number : errno;
  end(kept);
  return fail(setup_error("cannot start " + quote(wanted.argv.front()), why));
}

void end(Kept& kept) {
  if (kept.init < 0) return;
  ::shutdown(kept.channel.get(), SHUT_WR);
  while (::waitpid(kept.init, nullptr, 0) < 0 && errno == EINTR) {
  }
  kept.init = -1;
}

Result<std::optional<int>> run_briefly(const Start& wanted, int milliseconds) {
  CORDON_TRY(kept, start(wanted));
  pollfd waited{kept.channel.get(), POLLIN, 0};
  Ended ended;
  std::optional<int> status;
  if (::poll(&waited, 1, milliseconds) > 0 &&
      ::recv(kept.channel.get(), &ended, sizeof ended, MSG_WAITALL) == sizeof ended) {
    status = ended.wait_status;
  }
  end(kept);
  return status;
}

}  // namespace cordon::seatbelt
