#include <algorithm>
#include <array>
#include <cerrno>

#include "cli/doctor_check.h"

namespace cordon {
namespace {

bool is_like(const HostAccount& account, std::string_view name) {
  const std::string words = " " + account.distribution + " " + account.family + " ";
  return words.find(" " + std::string(name) + " ") != std::string::npos;
}

std::optional<std::uint64_t> sysctl(const HostAccount& account, const std::string& name) {
  const auto found = account.sysctls.find(name);
  if (found == account.sysctls.end()) return std::nullopt;
  return found->second;
}

std::string set_sysctl(std::string_view name, std::string_view value) {
  std::string line = "sudo sysctl -w ";
  line.append(name).append("=").append(value).append("; keep it with a line \"");
  return line.append(name).append(" = ").append(value).append("\" in /etc/sysctl.d/60-cordon.conf");
}

// Which setting of this host forbids namespaces, most specific first.
std::string namespace_cure(const native::Probe& probe, const HostAccount& account) {
  if (probe.error_number == ENOSYS) {
    return account.filtered
               ? "this process is already inside a sandbox: run cordon outside of it"
               : "this kernel has no clone3 or was built without namespaces: use Linux "
                 "5.13 or newer with CONFIG_USER_NS";
  }
  if (sysctl(account, "kernel.apparmor_restrict_unprivileged_userns") == 1U && account.uid != 0) {
    return "AppArmor takes the privileges from user namespaces of unprofiled programs: " +
           set_sysctl("kernel.apparmor_restrict_unprivileged_userns", "0") +
           "; or give Cordon's binary an AppArmor profile with \"userns,\"";
  }
  if (sysctl(account, "kernel.unprivileged_userns_clone") == 0U) {
    return set_sysctl("kernel.unprivileged_userns_clone", "1");
  }
  if (sysctl(account, "user.max_user_namespaces") == 0U) {
    return set_sysctl("user.max_user_namespaces", "15000");
  }
  if (account.in_container) {
    return "the container's seccomp profile forbids it: start the container with --security-opt "
           "seccomp=unconfined, or with a profile that permits clone, clone3, unshare, mount, "
           "fsopen, open_tree, move_mount, mount_setattr and pivot_root";
  }
  if (account.filtered)
    return "this process is already filtered: run cordon outside of its sandbox";
  return "permit unprivileged user namespaces on this kernel";
}

bool passed(const HostAccount& account, std::string_view name) {
  return std::ranges::any_of(
      account.probes, [&](const native::Probe& probe) { return probe.name == name && probe.ok; });
}

std::string proc_cure(const HostAccount& account) {
  if (!account.in_container) {
    return "something is mounted over parts of /proc (findmnt -R /proc): unmount it, since the "
           "kernel then refuses a fresh one";
  }
  return "the container masks parts of /proc, and the kernel then refuses a fresh one: start it "
         "with "
         "--security-opt systempaths=unconfined (Docker), --security-opt unmask=ALL (Podman) or "
         "procMount: Unmasked (Kubernetes)";
}

}  // namespace

std::string cure_for(const native::Probe& probe, const HostAccount& account) {
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
  if (probe.name == "symlink-mount" && passed(account, "mount-namespace")) {
    return "git's config files are read-only inside on this kernel; a newer one can mount symlinks";
  }
  if (probe.name == "fresh-proc" && probe.error_number == EPERM &&
      passed(account, "mount-namespace")) {
    return proc_cure(account);
  }
  return namespace_cure(probe, account);
}

std::string cgroup_cure(const HostAccount& account) {
  if (account.idle_group) {
    const std::string& group = account.idle_group->path;
    std::string controllers;
    for (const std::string& name : account.idle_group->controllers) {
      controllers.append(controllers.empty() ? "+" : " +").append(name);
    }
    return "a group with processes in it hands no controllers on; from a shell that is alone in "
           "it: mkdir " +
           group + "/shell && echo $$ > " + group + "/shell/cgroup.procs && echo '" + controllers +
           "' > " + group + "/cgroup.subtree_control";
  }
  if (account.in_container) {
    return "give the container a writable cgroup of its own: --cgroupns=private with "
           "/sys/fs/cgroup "
           "mounted read-write";
  }
  if (account.uid == 0) {
    return "mount cgroup v2 at /sys/fs/cgroup and permit its controllers: echo '+memory +pids "
           "+cpu' "
           "> /sys/fs/cgroup/cgroup.subtree_control";
  }
  return "have a group delegated: start the shell with systemd-run --user --scope -p Delegate=yes "
         "bash, or log in through systemd with Delegate=yes for user@.service";
}

std::string install_line(const HostAccount& account, const std::string& package) {
  struct Installer {
    std::string_view family;
    std::string_view command;
  };
  constexpr std::array kInstallers{
      Installer{"debian", "sudo apt install "},      Installer{"ubuntu", "sudo apt install "},
      Installer{"fedora", "sudo dnf install "},      Installer{"rhel", "sudo dnf install "},
      Installer{"arch", "sudo pacman -S "},          Installer{"suse", "sudo zypper install "},
      Installer{"opensuse", "sudo zypper install "}, Installer{"alpine", "sudo apk add "},
  };
  for (const Installer& installer : kInstallers) {
    if (is_like(account, installer.family)) return std::string(installer.command) + package;
  }
  return "install " + package;
}

}  // namespace cordon
