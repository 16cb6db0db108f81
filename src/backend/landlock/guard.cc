#include "backend/landlock/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>

#include "backend/native/protocol.h"
#include "backend/native/scope.h"
#include "sys/calls.h"

namespace cordon::landlock {
namespace {

// Whoever kills Cordon by its name is not to kill what cleans up after it.
constexpr char kName[] = "sandbox-guard";

constexpr int kLeashFd = 0;
constexpr int kFirstProcessFd = 1;

[[noreturn]] void give_up(int channel, int error) {
  native::Message message;
  message.kind = native::Message::Kind::Failed;
  message.stage = native::Stage::Build;
  message.error = error;
  (void)::send(channel, &message, sizeof message, MSG_NOSIGNAL);
  ::_exit(125);
}

// The leash and the first process, and nothing else of the caller's.
void arrange(int leash, int pidfd) {
  const int high_leash = ::fcntl(leash, F_DUPFD_CLOEXEC, 64);
  const int high_pidfd = ::fcntl(pidfd, F_DUPFD_CLOEXEC, 64);
  const bool placed = ::dup3(high_leash, kLeashFd, O_CLOEXEC) >= 0 &&
                      ::dup3(high_pidfd, kFirstProcessFd, O_CLOEXEC) >= 0;
  const bool closed = sys::close_range(kFirstProcessFd + 1, UINT_MAX) == 0;
  // Without them it does at once what it would do at the end.
  if (!placed || !closed) ::close(kLeashFd);
}

void wait_for_an_end() {
  pollfd polled[] = {{kLeashFd, POLLIN, 0}, {kFirstProcessFd, POLLIN, 0}};
  while (::poll(polled, 2, -1) < 0 && errno == EINTR) {
  }
}

// One call for all: a process that is being made when it comes is either killed or never made.
[[noreturn]] void end_everything() {
  ::kill(-1, SIGKILL);
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
  ::_exit(0);
}

}  // namespace

void guarded_first_process(const native::Prepared& prepared, const native::FirstProcessFds& fds) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  // Ignored by the caller, it would be inherited and make every wait answer ECHILD.
  ::sigaction(SIGCHLD, &action, nullptr);
  // Out of the reach of signals to the caller's group.
  ::setsid();
  if (const int error = native::scope_processes(); error < 0) give_up(fds.channel, -error);
  const sys::CloneResult first = sys::clone_process(0, -1);
  if (first.pid == 0) native::first_process(prepared, fds, native::carry_out);
  if (first.pid < 0) give_up(fds.channel, -first.pid);
  (void)::prctl(PR_SET_NAME, kName, 0UL, 0UL, 0UL);
  (void)sys::drop_own_capabilities();
  (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  arrange(fds.leash, first.pidfd);
  wait_for_an_end();
  end_everything();
}

}  // namespace cordon::landlock
