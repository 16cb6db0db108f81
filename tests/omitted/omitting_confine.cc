// sandbox/native/confine.cc without the layers that are to be left out.
//
// Two of them cannot simply be skipped. Without the broker a call that it judges would answer
// ENOSYS, which holds as well as any judgement: the filter is changed to allow the call instead.
// And without no_new_privs the kernel takes a filter from nobody but who has CAP_SYS_ADMIN: that
// one capability is kept until the command is executed, which loses it: its
// id inside is not 0.
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <variant>

#include "omitted_layer.h"
#include "sandbox/native/confine.h"

// The product's own functions, with those that are asked for under other names.
#define confine confine_in_full
#define join_group join_group_in_full
#include "sandbox/native/confine.cc"
#undef join_group
#undef confine

namespace cordon::native {
namespace {

using omitted::accepts_omission;
using omitted::leaves_out;
using omitted::OmittedLayer;

// No allocation: the command's process shares the memory of the first.
std::array<sock_filter, 4096> unbrokered;

int install_without_broker(const Prepared& prepared, CommandReport& report) {
  const auto length = static_cast<unsigned short>(prepared.filter.size());
  if (!accepts_omission()) return sys::install_filter(prepared.filter.data(), length);
  if (length > unbrokered.size()) return -E2BIG;
  std::ranges::transform(prepared.filter, unbrokered.begin(), [](sock_filter instruction) {
    const bool asks = instruction.code == (BPF_RET | BPF_K) &&
                      (instruction.k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_USER_NOTIF;
    if (asks) instruction.k = SECCOMP_RET_ALLOW;
    return instruction;
  });
  report.listener = sys::install_filter_with_listener(unbrokered.data(), length);
  return report.listener;
}

// What the supervisor takes for its broker's, and no call waits for it.
int install_without_filter(CommandReport& report) {
  const sock_filter everything{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
  report.listener = sys::install_filter_with_listener(&everything, 1);
  return report.listener;
}

int keep_only_sys_admin() {
  unsigned long number = leaves_out(OmittedLayer::Bounding) ? ULONG_MAX : 0;
  for (; ::prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0; ++number) {
    if (::prctl(PR_CAPBSET_DROP, number, 0, 0, 0) < 0) return -errno;
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> sets{};
  sets[0].permitted = sets[0].effective = 1U << CAP_SYS_ADMIN;
  return sys::zero_or_errno(::syscall(SYS_capset, &header, sets.data()));
}

class OmitConfining {
 public:
  OmitConfining(const Op& operation, const Prepared& prepared, int ruleset, CommandReport& report)
      : operation_(operation), prepared_(prepared), ruleset_(ruleset), report_(report) {}

  int operator()(const op::ResourceLimit&) const { return unless(OmittedLayer::ResourceLimits); }
  int operator()(const op::NoNewPrivileges&) const { return unless(OmittedLayer::NoNewPrivileges); }
  int operator()(const op::RestrictLandlock&) const { return unless(OmittedLayer::Landlock); }
  int operator()(const op::DropCapabilities&) const {
    if (leaves_out(OmittedLayer::Capabilities)) return 0;
    if (leaves_out(OmittedLayer::NoNewPrivileges) && accepts_omission()) {
      return keep_only_sys_admin();
    }
    return leaves_out(OmittedLayer::Bounding) ? sys::drop_own_capabilities() : in_full();
  }
  int operator()(const op::InstallSeccomp& o) const {
    if (leaves_out(OmittedLayer::Seccomp)) {
      return o.brokered && accepts_omission() ? install_without_filter(report_) : 0;
    }
    const bool asks = o.brokered && leaves_out(OmittedLayer::Broker);
    return asks ? install_without_broker(prepared_, report_) : in_full();
  }
  template <typename Other>
  int operator()(const Other&) const {
    return in_full();
  }

 private:
  [[nodiscard]] int in_full() const {
    return confine_in_full(operation_, prepared_, ruleset_, report_);
  }
  [[nodiscard]] int unless(OmittedLayer layer) const { return leaves_out(layer) ? 0 : in_full(); }

  const Op& operation_;
  const Prepared& prepared_;
  int ruleset_;
  CommandReport& report_;
};

}  // namespace

int confine(const Op& operation, const Prepared& prepared, int ruleset, CommandReport& report) {
  return std::visit(OmitConfining(operation, prepared, ruleset, report), operation);
}

int join_group(int group) {
  return leaves_out(OmittedLayer::Cgroups) ? 0 : join_group_in_full(group);
}

}  // namespace cordon::native
