#include "compat/mxc/executor/executor_init.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <iterator>

#include "compat/mxc/executor/inside.h"
#include "sandbox/native/sandbox_init.h"
#include "sys/calls.h"
#include "sys/sockets.h"

namespace cordon::mxc {
namespace {

constexpr int kChannelFd = 3;
constexpr int kExecutorFd = 4;
constexpr int kHigh = 128;
constexpr int kMemoryMilliseconds = 100;

[[noreturn]] void end() { ::_exit(125); }

void send(const InitMessage& message) {
  ssize_t sent = 0;
  do {
    sent = ::send(kChannelFd, &message, sizeof message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent != static_cast<ssize_t>(sizeof message)) end();
}

// Everything at its fixed number and nothing else open. What goes through the executor is
// inherited.
void arrange(const VerifiedExecutor& executor, const InitStart& start) {
  struct Place {
    int from;
    int to;
  };
  Place places[] = {{start.in, STDIN_FILENO},
                    {start.out, STDOUT_FILENO},
                    {start.err, STDERR_FILENO},
                    {start.channel, kChannelFd},
                    {executor.descriptor(), kExecutorFd},
                    {start.document, kDocumentFd},
                    {start.self, kSelfFd},
                    {start.inside_plan, kPlanFd},
                    {start.report, kReportFd},
                    {start.release, kReleaseFd},
                    {start.groups[0], kFirstGroupFd},
                    {start.groups[1], kFirstGroupFd + 1},
                    {start.groups[2], kFirstGroupFd + 2}};
  static_assert(native::kMostGroups == 3);
  for (Place& place : places) {
    if (place.from < 0) continue;
    place.from = ::fcntl(place.from, F_DUPFD_CLOEXEC, kHigh);
    if (place.from < 0) end();
  }
  if (sys::close_range(0, kHigh - 1) < 0) end();
  for (const Place& place : places) {
    if (place.from < 0) continue;
    if (::dup3(place.from, place.to, place.to == kChannelFd ? O_CLOEXEC : 0) < 0) end();
  }
  if (sys::close_range(kHigh, UINT_MAX) < 0) end();
}

void wait_for_identity(bool drop_groups) {
  InitOrder order;
  if (::recv(kChannelFd, &order, sizeof order, 0) != sizeof order ||
      order.kind != InitOrder::Kind::IdentityMapped) {
    end();
  }
  // Groups such as docker or disk would still open host files by their group bits.
  // The raw call: the library's wrapper would signal threads that are not in this process.
  if (drop_groups && ::syscall(SYS_setgroups, 0, nullptr) < 0) end();
}

void build(const Plan& plan) {
  InitMessage message;
  message.kind = InitMessage::Kind::NotBuilt;
  const int error = build_view(plan, message.index);
  if (error == 0) return;
  message.error = -error;
  send(message);
  end();
}

[[noreturn]] void become_executor(char* const* argv, bool terminal) {
  native::default_signals();
  // Only directories of the system: the executor looks for bubblewrap here.
  char path[] = "PATH=/usr/bin:/bin:/usr/sbin:/sbin";
  char* const environment[] = {path, nullptr};
  InitMessage message;
  if (::setsid() >= 0 && (!terminal || ::ioctl(STDIN_FILENO, TIOCSCTTY, 0) >= 0) &&
      ::chdir("/") == 0) {
    ::syscall(SYS_execveat, kExecutorFd, "", argv, environment, AT_EMPTY_PATH);
  }
  message.error = errno;
  send(message);
  end();
}

// True once the executor has ended; orphans are reaped on the way.
bool reap(pid_t executor, InitMessage& ended) {
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid == 0) return false;
    if (pid < 0) {
      if (errno == EINTR) continue;
      end();  // there is an executor to wait for: without its status nothing goes on
    }
    if (pid != executor) continue;
    ended.kind = InitMessage::Kind::Ended;
    ended.wait_status = status;
    return true;
  }
}

// Memory of the ipc namespace belongs to no process; from inside it can be asked for. This process
// never executed anything, so that it has its capabilities over the namespaces below its own.
bool obey() {
  InitOrder order;
  sys::Passed passed;
  if (sys::receive_passing(kChannelFd, &order, sizeof order, passed) != sizeof order) end();
  if (order.kind != InitOrder::Kind::WatchMemory || passed.count != 1) end();
  if (::setns(passed.descriptors[0], CLONE_NEWIPC) < 0) end();
  ::close(passed.descriptors[0]);
  return true;
}

}  // namespace

void keep(const VerifiedExecutor& executor, const InitStart& start) {
  arrange(executor, start);
  wait_for_identity(start.drop_groups);
  build(*start.plan);
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  // Ignored by the caller, it would be inherited and make every wait answer ECHILD.
  ::sigaction(SIGCHLD, &action, nullptr);
  sigset_t child_signal;
  ::sigemptyset(&child_signal);
  ::sigaddset(&child_signal, SIGCHLD);
  const int signals = ::signalfd(-1, &child_signal, SFD_CLOEXEC);
  if (signals < 0) end();
  const sys::CloneResult cloned = sys::clone_process(0, -1);
  if (cloned.pid == 0) become_executor(start.argv, start.terminal);
  if (cloned.pid < 0) end();
  // Else readers of the command's streams, and the program inside, would wait for this process too.
  if (sys::close_range(0, STDERR_FILENO) < 0 || ::close(kExecutorFd) < 0 ||
      sys::close_range(kDocumentFd, kFirstGroupFd + 2) < 0) {
    end();
  }
  bool watches = false;
  std::uint64_t told = 0;
  for (;;) {
    pollfd polled[] = {{kChannelFd, POLLIN, 0}, {signals, POLLIN, 0}};
    if (::poll(polled, std::size(polled), watches ? kMemoryMilliseconds : -1) < 0) {
      if (errno == EINTR) continue;
      end();
    }
    if (polled[1].revents != 0) {
      signalfd_siginfo info;
      [[maybe_unused]] const ssize_t drained = ::read(signals, &info, sizeof info);
      InitMessage ended;
      if (reap(cloned.pid, ended)) {
        native::TreeUsage used;
        if (!native::end_the_rest(used)) end();
        ended.cpu_us = used.cpu_us;
        ended.max_rss_bytes = used.max_rss_bytes;
        send(ended);
        ::_exit(0);
      }
    }
    if (polled[0].revents != 0) watches = obey();
    if (!watches) continue;
    InitMessage message;
    message.kind = InitMessage::Kind::Memory;
    message.ipc_bytes = sys::ipc_memory();
    if (message.ipc_bytes != told) send(message);
    told = message.ipc_bytes;
  }
}

}  // namespace cordon::mxc
