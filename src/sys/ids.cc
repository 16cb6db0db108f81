#include "sys/ids.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace cordon::sys {
namespace {

constexpr std::uint32_t kIdCapabilities = (1U << CAP_SETUID) | (1U << CAP_SETGID);

// Of this process.
__user_cap_header_struct header() { return {_LINUX_CAPABILITY_VERSION_3, 0}; }

// All of these, in effect.
bool has(std::uint32_t capabilities) {
  __user_cap_header_struct own = header();
  __user_cap_data_struct sets[2]{};
  if (::syscall(SYS_capget, &own, sets) < 0) return false;
  return (sets[0].effective & capabilities) == capabilities;
}

}  // namespace

bool may_change_ids() { return has(kIdCapabilities); }

bool may_map_root() { return has(1U << CAP_SETFCAP); }

bool may_empty_bounding_set() { return has(1U << CAP_SETPCAP); }

int keep_only_id_capabilities() {
  __user_cap_header_struct own = header();
  __user_cap_data_struct sets[2]{};
  sets[0].effective = kIdCapabilities;
  sets[0].permitted = kIdCapabilities;
  return ::syscall(SYS_capset, &own, sets) < 0 ? -errno : 0;
}

int become(std::uint32_t uid, std::uint32_t gid) {
  if (::syscall(SYS_setgroups, 0, nullptr) < 0) return -errno;
  if (::syscall(SYS_setresgid, gid, gid, gid) < 0) return -errno;
  return ::syscall(SYS_setresuid, uid, uid, uid) < 0 ? -errno : 0;
}

}  // namespace cordon::sys
