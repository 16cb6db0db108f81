#include "backend/native/errand.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "backend/native/protocol.h"
#include "base/fd.h"
#include "sys/calls.h"
#include "sys/landlock.h"
#include "sys/passing.h"

namespace cordon::native {
namespace {

// The order in which an errand's descriptors are passed; the directory may be left out.
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

void run_errand(const Order& order, const sys::Passed& passed, int ruleset) {
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

int send_errand(int channel, int socket, int directory, const Order& order) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) < 0) return errno;
  const Fd answer(pipe[0]);
  Fd theirs(pipe[1]);
  const std::array<int, kErrandDescriptors> passed = {socket, theirs.get(), directory};
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

}  // namespace cordon::native
