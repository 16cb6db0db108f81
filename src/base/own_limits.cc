#include "base/own_limits.h"

#include <sys/resource.h>

#include <csignal>
#include <string>

namespace cordon {
namespace {

// Threads get as much as the main one.
constexpr rlim_t kLeastStack = rlim_t{512} * 1024;
constexpr rlim_t kUsualStack = rlim_t{8192} * 1024;

extern "C" void fail_with_efbig(int) {}

}  // namespace

void meet_file_size_limit() {
  struct sigaction action {};
  if (::sigaction(SIGXFSZ, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return;
  action.sa_handler = fail_with_efbig;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGXFSZ, &action, nullptr);
}

std::optional<Error> refuse_small_stack() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kLeastStack) return std::nullopt;
  const std::string now = std::to_string(limit.rlim_cur / 1024);
  const bool soft = limit.rlim_max >= kUsualStack;
  return setup_error(
      "the stack is limited to " + now + " KiB (ulimit -s), and cordon needs " +
          std::to_string(kLeastStack / 1024),
      0,
      soft ? "ulimit -Ss " + std::to_string(kUsualStack / 1024) + " in the shell that starts cordon"
           : "the hard limit is as low: start from a shell in which nobody lowered "
             "it, or have it raised (LimitSTACK=, /etc/security/limits.conf)");
}

}  // namespace cordon
