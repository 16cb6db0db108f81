// A runtime is killed with this process, by the signal that its parent's death sends. What it may
// have made by then, a stopped container, belongs to nobody: the engine saw its call fail. So a
// second process waits for the end of a pipe that this one holds. It sees a byte if all went well.
// Otherwise it waits for the runtime's end and deletes the container.
#include "compat/oci/command/runtime_process.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <ctime>
#include <optional>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "sys/calls.h"

namespace cordon::oci {
namespace {

constexpr int kSignalBase = 128;
constexpr int kCannotExecute = 127;
constexpr std::array<const char*, 6> kProgramPlaces{
    "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"};
constexpr std::array<const char*, 2> kKnownRuntimes{"runc", "crun"};

Result<void> check_runtime(const std::string& path, std::uint32_t uid) {
  struct stat status {};
  if (::stat(path.c_str(), &status) < 0 || !S_ISREG(status.st_mode) ||
      ::access(path.c_str(), X_OK) < 0) {
    return fail(
        setup_error("the runtime " + quote(path) + " cannot be executed", errno,
                    "install one: apt install runc; or name it: cordon oci --runtime PROGRAM"));
  }
  constexpr mode_t kOthersWrite = 022;
  if ((status.st_mode & kOthersWrite) == 0 && (status.st_uid == 0 || status.st_uid == uid))
    return {};
  return fail({.kind = ErrorKind::Untrusted,
               .what = "the runtime " + quote(path) + " may be replaced by others",
               .hint = "let root own it, and nobody else write it"});
}

struct Argv {
  explicit Argv(const std::string& program, const std::vector<std::string>& words) {
    texts.push_back(program);
    texts.insert(texts.end(), words.begin(), words.end());
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
  }
  std::vector<std::string> texts;
  std::vector<char*> pointers;
};

struct Pipe {
  Fd read;
  Fd write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) < 0) return fail(setup_error("cannot make a pipe", errno));
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

enum class Seen { Byte, End };
Seen wait_for(int descriptor) {
  char byte = 0;
  for (;;) {
    const ssize_t got = ::read(descriptor, &byte, 1);
    if (got == 1) return Seen::Byte;
    if (got == 0 || errno != EINTR) return Seen::End;
  }
}

void without_streams() {
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (nothing >= 0) {
      ::dup2(nothing, stream);
    } else {
      ::close(stream);
    }
  }
}

// In the child. It holds nobody else's descriptors: an engine waits until its pipes are closed.
[[noreturn]] void stand_by(int lifetime, int runtime, Argv undo) {
  ::setsid();
  without_streams();
  constexpr int kLifetime = 3;
  constexpr int kRuntime = 4;
  const int kept_lifetime = ::fcntl(lifetime, F_DUPFD_CLOEXEC, 16);
  const int kept_runtime = ::fcntl(runtime, F_DUPFD_CLOEXEC, 17);
  ::dup3(kept_lifetime, kLifetime, O_CLOEXEC);
  ::dup3(kept_runtime, kRuntime, O_CLOEXEC);
  sys::close_range(kRuntime + 1, UINT_MAX);
  if (wait_for(kLifetime) == Seen::Byte) ::_exit(0);
  sys::pidfd_send_signal(kRuntime, SIGKILL);
  pollfd ended{kRuntime, POLLIN, 0};
  while (::poll(&ended, 1, -1) < 0 && errno == EINTR) {
  }
  ::close(kLifetime);
  ::close(kRuntime);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // It fails while the kernel still holds a control group of what was just killed.
  constexpr int kAttempts = 100;
  constexpr timespec kPause{0, 100'000'000};
  for (int i = 0; i < kAttempts; ++i) {
    const pid_t attempt = ::fork();
    if (attempt == 0) {
      ::execv(undo.pointers.front(), undo.pointers.data());
      ::_exit(kCannotExecute);
    }
    int status = -1;
    while (attempt > 0 && ::waitpid(attempt, &status, 0) < 0 && errno == EINTR) {
    }
    if (attempt > 0 && status == 0) ::_exit(0);
    ::nanosleep(&kPause, nullptr);
  }
  ::_exit(kCannotExecute);
}

// In the child. Waits until it may begin, so that whoever stands by is there before anything is.
[[noreturn]] void be_runtime(pid_t parent, int begin, const sigset_t& mask, Argv argv, bool quiet) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent || wait_for(begin) != Seen::Byte) ::_exit(kCannotExecute);
  if (quiet) without_streams();
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execv(argv.pointers.front(), argv.pointers.data());
  ::_exit(kCannotExecute);
}

int status_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalBase + WTERMSIG(status);
}

// Every signal but those of the end of a child goes on to it.
int await(pid_t child) {
  sigset_t all;
  ::sigfillset(&all);
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return status_of(status);
    if (ended < 0 && errno != EINTR) return kCannotExecute;
    const int signal = ::sigwaitinfo(&all, nullptr);
    if (signal > 0 && signal != SIGCHLD) ::kill(child, signal);
  }
}

Result<int> start_and_wait(const std::string& program, const std::vector<std::string>& words,
                           const std::vector<std::string>& undo, bool quiet) {
  CORDON_TRY(begin, make_pipe());
  CORDON_TRY(lifetime, make_pipe());
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    begin.write.reset();
    lifetime.write.reset();
    be_runtime(self, begin.read.get(), before, Argv(program, words), quiet);
  }
  if (child < 0) {
    const int error = errno;
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    return fail(setup_error("cannot make a process for the runtime", error));
  }
  begin.read.reset();
  pid_t guard = -1;
  if (!undo.empty()) {
    const Fd runtime(sys::pidfd_open(child));
    guard = runtime.valid() ? ::fork() : -1;
    if (guard == 0) {
      lifetime.write.reset();
      begin.write.reset();
      stand_by(lifetime.read.get(), runtime.get(), Argv(program, undo));
    }
  }
  if (undo.empty() || guard > 0) (void)write_whole(begin.write.get(), "b");
  begin.write.reset();
  const int status = await(child);
  (void)write_whole(lifetime.write.get(), "d");
  while (guard > 0 && ::waitpid(guard, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (!undo.empty() && guard < 0) {
    return fail(setup_error("cannot make a process that stands by the runtime", EAGAIN));
  }
  return status;
}

}  // namespace

Result<std::string> find_runtime(const std::string& named, std::uint32_t uid) {
  if (named.find('/') != std::string::npos) {
    if (!named.starts_with('/')) {
      return fail(usage_error("--runtime " + quote(named) + " is not absolute",
                              "an engine starts runtimes anywhere: write the whole path"));
    }
    CORDON_CHECK(check_runtime(named, uid));
    return named;
  }
  for (const char* known : kKnownRuntimes) {
    const std::string name = named.empty() ? known : named;
    for (const char* place : kProgramPlaces) {
      std::string path = join(place, name);
      if (::access(path.c_str(), X_OK) < 0) continue;
      CORDON_CHECK(check_runtime(path, uid));
      return path;
    }
  }
  return fail({.kind = ErrorKind::Unavailable,
               .what = named.empty() ? "neither runc nor crun is installed"
                                     : "there is no runtime " + quote(named),
               .hint = "install one: apt install runc; or name it: cordon oci --runtime PROGRAM"});
}

Error become_runtime(const std::string& program, const std::vector<std::string>& words) {
  const Argv argv(program, words);
  ::execv(argv.pointers.front(), argv.pointers.data());
  return setup_error("cannot execute the runtime " + quote(program), errno);
}

Result<int> call_runtime(const std::string& program, const std::vector<std::string>& words,
                         const std::vector<std::string>& undo) {
  return start_and_wait(program, words, undo, false);
}

Result<int> ask_runtime(const std::string& program, const std::vector<std::string>& words) {
  return start_and_wait(program, words, {}, true);
}

}  // namespace cordon::oci
