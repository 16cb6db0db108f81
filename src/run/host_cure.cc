#include "run/host_cure.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include "backend/native/odd_host.h"
#include "plan/limits.h"

namespace cordon {
namespace {

std::optional<std::uint64_t> sysctl(const HostSettings& settings, const std::string& name) {
  const auto found = settings.sysctls.find(name);
  if (found == settings.sysctls.end()) return std::nullopt;
  return found->second;
}

std::string set_sysctl(std::string_view name, std::string_view value) {
  std::string line = "sudo sysctl -w ";
  line.append(name).append("=").append(value).append("; keep it with a line \"");
  return line.append(name).append(" = ").append(value).append("\" in /etc/sysctl.d/60-cordon.conf");
}

constexpr const char* kContainerCure =
    "the container's seccomp profile forbids it: start the container with --security-opt "
    "seccomp=unconfined, or with a profile that permits clone, clone3, unshare, mount, fsopen, "
    "open_tree, move_mount, mount_setattr and pivot_root";

// ENOSPC is a limit that is used up; each kind of namespace has its own.
std::string limit_cure(const native::Probe& probe) {
  if (probe.name == "mount-namespace") return set_sysctl("user.max_mnt_namespaces", "15000");
  if (probe.name == "pid-namespace") return set_sysctl("user.max_pid_namespaces", "15000");
  if (probe.name == "net-namespace") return set_sysctl("user.max_net_namespaces", "15000");
  if (probe.name == "user-namespace") return set_sysctl("user.max_user_namespaces", "15000");
  return "raise the limits user.max_*_namespaces (sysctl user)";
}

// ENOSYS: the call is not there at all.
std::string missing_call_cure(const HostSettings& settings) {
  if (!settings.filtered) {
    return "this kernel has no clone3 or was built without namespaces: use Linux 5.13 or newer "
           "with CONFIG_USER_NS";
  }
  if (settings.in_container) return kContainerCure;
  return "this process is already inside a sandbox: run cordon outside of it";
}

// Which setting of this host forbids namespaces, most specific first.
std::string namespace_cure(const native::Probe& probe, const HostSettings& settings) {
  if (probe.error_number == ENOSYS) return missing_call_cure(settings);
  if (probe.error_number == ENOSPC) return limit_cure(probe);
  if (sysctl(settings, "kernel.unprivileged_userns_clone") == 0U && settings.uid != 0) {
    return set_sysctl("kernel.unprivileged_userns_clone", "1");
  }
  if (sysctl(settings, "kernel.apparmor_restrict_unprivileged_userns") == 1U && settings.uid != 0) {
    return "AppArmor takes the privileges from user namespaces of unprofiled programs: " +
           set_sysctl("kernel.apparmor_restrict_unprivileged_userns", "0") +
           "; or give Cordon's binary an AppArmor profile with \"userns,\"";
  }
  if (sysctl(settings, "user.max_user_namespaces") == 0U) {
    return set_sysctl("user.max_user_namespaces", "15000");
  }
  if (settings.in_chroot) {
    return "the kernel makes no user namespace inside a chroot: run cordon outside of it, or enter "
           "the tree as a mount of its own (systemd-nspawn, podman run --rootfs)";
  }
  if (settings.in_container) return kContainerCure;
  if (settings.filtered) {
    return "this process is already filtered: run cordon outside of its sandbox";
  }
  return "permit unprivileged user namespaces on this kernel";
}

bool passed(const std::vector<native::Probe>& probes, std::string_view name) {
  return std::ranges::any_of(
      probes, [&](const native::Probe& probe) { return probe.name == name && probe.ok; });
}

std::string proc_cure(const HostSettings& settings) {
  if (!settings.in_container) {
    return "something is mounted over parts of /proc (findmnt -R /proc): unmount it, since the "
           "kernel then refuses a fresh one";
  }
  return "the container masks parts of /proc, and the kernel then refuses a fresh one: start it "
         "with "
         "--security-opt systempaths=unconfined (Docker), --security-opt unmask=ALL (Podman) or "
         "procMount: Unmasked (Kubernetes)";
}

}  // namespace

std::string cure_for(const native::Probe& probe, const std::vector<native::Probe>& probes,
                     const HostSettings& settings) {
  if (probe.name == "landlock") {
    return "use a kernel with CONFIG_SECURITY_LANDLOCK=y (Linux 5.13 or newer) and add landlock to "
           "the list of the boot parameter lsm=; in a container the seccomp profile must permit "
           "landlock_create_ruleset, landlock_add_rule and landlock_restrict_self";
  }
  if (probe.name == "seccomp" || probe.name == "no-new-privileges") {
    return "use a kernel with CONFIG_SECCOMP_FILTER=y";
  }
  if (probe.name == "seccomp-listener") {
    return "network mode allow needs Linux 5.19 or newer, and in a container a seccomp profile "
           "that "
           "permits listeners; the other modes do not";
  }
  // With mounts refused as such, the namespace is to be cured first.
  if (probe.name == "symlink-mount" && passed(probes, "mount-namespace")) {
    return "git's config files are read-only inside on this kernel; a newer one can mount symlinks";
  }
  if (probe.name == "fresh-proc" && probe.error_number == EPERM &&
      passed(probes, "mount-namespace")) {
    return proc_cure(settings);
  }
  // Only the pivot is refused so.
  if (probe.error_number == EINVAL && native::root_is_initramfs(native::read_mountinfo())) {
    return native::initramfs_cure();
  }
  // Without a user namespace none of the others can be made: its cure comes first.
  for (const native::Probe& first : probes) {
    if (first.name == "user-namespace" && !first.ok) return namespace_cure(first, settings);
  }
  return namespace_cure(probe, settings);
}

std::string cgroup_cure(const HostSettings& settings, const std::optional<IdleGroup>& idle) {
  if (idle) {
    const std::string& group = idle->path;
    std::string controllers;
    for (const std::string& name : idle->controllers) {
      controllers.append(controllers.empty() ? "+" : " +").append(name);
    }
    return "a group with processes in it hands no controllers on; from a shell that is alone in "
           "it: mkdir " +
           group + "/shell && echo $$ > " + group + "/shell/cgroup.procs && echo '" + controllers +
           "' > " + group + "/cgroup.subtree_control";
  }
  if (settings.in_container) {
    return "give the container a writable cgroup of its own: --cgroupns=private with "
           "/sys/fs/cgroup "
           "mounted read-write";
  }
  if (settings.uid == 0) {
    return "mount cgroup v2 at /sys/fs/cgroup and permit its controllers: echo '+memory +pids "
           "+cpu' "
           "> /sys/fs/cgroup/cgroup.subtree_control";
  }
  return "have a group delegated: start the shell with systemd-run --user --scope -p Delegate=yes "
         "bash, or log in through systemd with Delegate=yes for user@.service";
}

Result<void> refuse_without_cgroup(const Effective& effective, const HostFacts& facts) {
  if (!lacks_required_cgroup(effective, facts)) return {};
  return fail({.kind = ErrorKind::Unsupported,
               .what = "the policy requires cgroup limits and no cgroup can be made here",
               .hint = cgroup_cure(host_settings(), idle_group()) +
                       "; or run without the requirement: memory is then watched"});
}

}  // namespace cordon
