#include "sandbox/native/forerunner.h"

#include <linux/futex.h>
#include <linux/sched.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "sandbox/native/native_backend.h"
#include "sys/raw_call.h"

namespace cordon::native {
namespace {

// The init goes on on a copy of it.
constexpr std::size_t kStack = std::size_t{256} * 1024;

}  // namespace

Forerunner::Forerunner()
    : parent_(::getpid()), stack_(std::make_unique_for_overwrite<char[]>(kStack)) {}

std::unique_ptr<Forerunner> Forerunner::send() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return nullptr;  // the sanitizers know one stack for each thread
#else
  std::unique_ptr<Forerunner> forerunner(new Forerunner());
  // A handler that ran in it would change what this process is doing.
  const SignalsBlocked blocked;
  int process = -1;
  const int flags = CLONE_VM | CLONE_FILES | CLONE_NEWUSER | CLONE_PIDFD | SIGCHLD;
  if (::clone(run, forerunner->stack_.get() + kStack, flags, forerunner.get(), &process) < 0) {
    return nullptr;
  }
  forerunner->process_ = Fd(process);
  return forerunner;
#endif
}

// From here to the clone of the init errno belongs to the thread that sent this process, which goes
// on: only raw calls, and no function of the library. No handler, no allocation.

int Forerunner::run(void* self) {
  auto* forerunner = static_cast<Forerunner*>(self);
  // Its end of a pipe would not tell: it has this process's descriptors itself.
  sys::raw_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  if (sys::raw_call(SYS_getppid, 0) == forerunner->parent_) {
    forerunner->make_namespaces();
    if (forerunner->order() == kFollow && forerunner->made_) forerunner->start_init();
  }
  sys::raw_call(SYS_exit_group, 0);
  return 0;
}

void Forerunner::make_namespaces() {
  made_ = sys::raw_call(SYS_unshare, CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) == 0;
  if (!made_) return;
  // The init does this as well, and is told if it fails; what is done already costs it nothing.
  const long socket = sys::raw_call(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return;
  ifreq request{};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  sys::raw_call(SYS_ioctl, socket, SIOCSIFFLAGS, &request);
  sys::raw_call(SYS_close, socket);
}

std::uint32_t Forerunner::order() {
  for (;;) {
    if (const std::uint32_t order = order_.load(); order != kNone) return order;
    sys::raw_call(SYS_futex, &order_, FUTEX_WAIT_PRIVATE, kNone);
  }
}

void Forerunner::start_init() {
  clone_args arguments{};
  // A child of who sent this process. The group's namespace is made here: the kernel takes a group
  // to be born in only if the namespace of who clones shows it.
  arguments.flags = CLONE_PARENT | CLONE_NEWPID | CLONE_NEWCGROUP | CLONE_PIDFD |
                    CLONE_PARENT_SETTID | CLONE_CLEAR_SIGHAND;
  arguments.pidfd = reinterpret_cast<std::uintptr_t>(&init_pidfd_);
  // The kernel writes it once the process exists, so that it is known even if this one is killed.
  arguments.parent_tid = reinterpret_cast<std::uintptr_t>(&init_);
  if (cgroup_ >= 0) {
    arguments.flags |= CLONE_INTO_CGROUP;
    arguments.cgroup = static_cast<unsigned>(cgroup_);
  }
  if (sys::raw_call(SYS_clone3, &arguments, sizeof arguments) == 0) body_(argument_);
}

sys::CloneResult Forerunner::follow(int cgroup, Body body, const void* argument) {
  if (!process_.valid()) return {0, -1};
  cgroup_ = cgroup;
  body_ = body;
  argument_ = argument;
  end_by(kFollow);
  return init_ == 0 ? sys::CloneResult{0, -1} : sys::CloneResult{init_, init_pidfd_};
}

// It is not killed where it need not be: what it has open is open here as well.
void Forerunner::end_by(std::uint32_t order) {
  order_ = order;
  sys::raw_call(SYS_futex, &order_, FUTEX_WAKE_PRIVATE, 1);
  const Fd process = std::move(process_);
  sys::ProcessUsage unused;
  int error = 0;
  do {
    error = sys::wait_pidfd(process.get(), unused);
  } while (error == -EINTR);
  // Children of a caller that ignores SIGCHLD are reaped by the kernel.
  if (error == 0 || error == -ECHILD) return;
  // What it has begun is known only once it has ended.
  sys::pidfd_send_signal(process.get(), SIGKILL);
  pollfd polled{process.get(), POLLIN, 0};
  while (::poll(&polled, 1, -1) < 0 && errno == EINTR) {
  }
  (void)sys::wait_pidfd(process.get(), unused);
}

Forerunner::~Forerunner() {
  if (process_.valid()) end_by(kEnd);
}

}  // namespace cordon::native
