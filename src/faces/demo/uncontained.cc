#include "faces/demo/uncontained.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "run/capture.h"
#include "sys/calls.h"

namespace cordon::demo {
namespace {

constexpr std::uint64_t kLargestOutput = std::uint64_t{64} * 1024;

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

// Other threads may hold locks at the moment of the fork: only calls that are safe there.
[[noreturn]] void become(char* const* argv, char* const* environment, int out, int err,
                         pid_t parent) {
  sigset_t none;
  ::sigemptyset(&none);
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent || ::chdir("/") < 0) ::_exit(126);
  const int empty = ::open("/dev/null", O_RDONLY);
  ::dup2(empty, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  // Descriptors of the demonstration close on exec; a caller's may not.
  (void)::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(argv[0], argv, environment);
  ::_exit(127);
}

struct TwoEnds {
  Fd read;
  Fd write;
};

TwoEnds make_pipe() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) < 0) return {};
  return {Fd(ends[0]), Fd(ends[1])};
}

// Takes what there is; closes the descriptor at its end.
void drain(Fd& from, Capture& into) {
  std::array<char, 4096> block{};
  const ssize_t got = ::read(from.get(), block.data(), block.size());
  if (got > 0) into.add({block.data(), static_cast<std::size_t>(got)});
  if (got == 0 || (got < 0 && errno != EINTR)) from.reset();
}

End end_of(int status) {
  if (WIFSIGNALED(status)) return Signaled{WTERMSIG(status)};
  return Exited{WEXITSTATUS(status)};
}

}  // namespace

FileForAll::FileForAll(std::string path)
    : path_(std::move(path)),
      file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) {}

FileForAll::~FileForAll() {
  if (made()) ::unlink(path_.c_str());
}

Uncontained::Uncontained(const std::vector<std::string>& argv,
                         const std::map<std::string, std::string>& environment) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  const std::vector<char*> words = pointers(argv);
  const std::vector<char*> names = pointers(variables);
  TwoEnds out = make_pipe();
  TwoEnds err = make_pipe();
  if (!out.read.valid() || !err.read.valid()) {
    error_ = errno;
    return;
  }
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) {
    become(words.data(), names.data(), out.write.get(), err.write.get(), parent);
  }
  if (process_ < 0) error_ = errno;
  if (process_ > 0) ::setpgid(process_, process_);
  out_ = std::move(out.read);
  err_ = std::move(err.read);
}

Uncontained::~Uncontained() { end(); }

void Uncontained::end() {
  if (process_ <= 0) return;
  ::kill(-process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
}

Report Uncontained::wait(std::uint64_t limit_ms, int signals,
                         const std::function<std::optional<int>()>& interrupted) {
  Report report;
  const Fd ended(process_ > 0 ? sys::pidfd_open(process_) : -1);
  if (!ended.valid()) {
    report.error = setup_error("the command could not be started", error_);
    return report;
  }
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::milliseconds(limit_ms);
  Capture out(kLargestOutput);
  Capture err(kLargestOutput);
  std::optional<End> how;
  while (!how) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    std::array<pollfd, 4> watched{pollfd{ended.get(), POLLIN, 0}, pollfd{signals, POLLIN, 0},
                                  pollfd{out_.get(), POLLIN, 0}, pollfd{err_.get(), POLLIN, 0}};
    (void)::poll(watched.data(), watched.size(), static_cast<int>(std::max<long>(left, 0)));
    if (watched[2].revents != 0) drain(out_, out);
    if (watched[3].revents != 0) drain(err_, err);
    const std::optional<int> signal = interrupted();
    if (signal) {
      how = Cancelled{*signal};
    } else if (watched[0].revents != 0 && watched[2].revents == 0 && watched[3].revents == 0) {
      // What it left in the pipes has been read. Not reaped yet: its group's number stays taken.
      int status = 0;
      ::kill(-process_, SIGKILL);
      if (::waitpid(process_, &status, 0) == process_) how = end_of(status);
      process_ = -1;
    } else if (left <= 0) {
      how = TimedOut{limit_ms};
    }
  }
  end();
  report.outcome.emplace();
  report.outcome->end = *how;
  report.outcome->out = out.take();
  report.outcome->err = err.take();
  return report;
}

}  // namespace cordon::demo
