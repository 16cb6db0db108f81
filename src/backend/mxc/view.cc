#include "backend/mxc/view.h"

#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>
#include <variant>

#include "backend/native/build.h"

namespace cordon::mxc {
namespace {

// A whole one and writable: bubblewrap writes its id maps there, and the kernel lets it mount one
// of its own only where a whole one is seen. The command gets that other one.
int mount_proc() {
  constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  return ::mount("proc", "proc", "proc", kFlags, nullptr) < 0 ? -errno : 0;
}

// The clone and the supervisor did these.
bool is_done(const Op& operation) {
  return std::holds_alternative<op::EnterNamespaces>(operation) ||
         std::holds_alternative<op::MapIdentity>(operation);
}

}  // namespace

int build_view(const Plan& plan, std::uint32_t& index) {
  const native::Prepared unused;
  native::BuildState state;
  // Modes are then what the plan says.
  const mode_t mask = ::umask(0);
  for (index = 0; index < plan.build.size(); ++index) {
    const Op& operation = plan.build[index];
    if (std::holds_alternative<op::RunExecutor>(operation)) break;
    if (is_done(operation)) continue;
    int error = 0;
    if (std::holds_alternative<op::PivotRoot>(operation)) error = mount_proc();
    if (error == 0) error = native::carry_out(operation, unused, state);
    if (error < 0) return error;
  }
  ::umask(mask);
  return 0;
}

}  // namespace cordon::mxc
