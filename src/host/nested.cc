#include "host/nested.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "sys/calls.h"

namespace cordon {
namespace {

// As the plans write them (op::HostName, PlanRequest::private_directory).
constexpr std::string_view kHostName = "cordon";
constexpr std::string_view kPrivatePlace = "/cordon/private/";

bool filter_refuses_openat2() {
  const int fd = sys::openat2(AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0, 0);
  if (fd >= 0) ::close(fd);
  return fd == -ENOSYS && ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}

bool has_private_place(const Caller& caller) {
  for (const char* name : {"HOME", "TMPDIR"}) {
    const auto found = caller.environment.find(name);
    if (found != caller.environment.end() &&
        found->second.find(kPrivatePlace) != std::string::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool is_inside_cordon(const Caller& caller) {
  if (!filter_refuses_openat2()) return false;
  utsname names{};
  const bool named = ::uname(&names) == 0 && kHostName == names.nodename;
  return named || has_private_place(caller);
}

Result<void> refuse_nesting(const Caller& caller) {
  if (!is_inside_cordon(caller)) return {};
  return fail({.kind = ErrorKind::Unavailable,
               .what = "this is already inside a Cordon sandbox, and sandboxes are not nested",
               .hint = "start the command without cordon: the outer run contains it already"});
}

}  // namespace cordon
