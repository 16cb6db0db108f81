#include "host/host_settings.h"

#include <sys/prctl.h>
#include <sys/utsname.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "sys/calls.h"
#include "sys/ids.h"

namespace cordon {
namespace {

constexpr const char* kAppArmor = "kernel.apparmor_restrict_unprivileged_userns";
constexpr const char* kUnprivileged = "kernel.unprivileged_userns_clone";
constexpr const char* kMostNamespaces = "user.max_user_namespaces";

struct Sysctl {
  const char* name;
  const char* path;
};
constexpr std::array kSysctls{
    Sysctl{kAppArmor, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"},
    Sysctl{kUnprivileged, "/proc/sys/kernel/unprivileged_userns_clone"},
    Sysctl{kMostNamespaces, "/proc/sys/user/max_user_namespaces"},
};

std::string read_small(const char* path) {
  const Fd file(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::array<char, 8192> buffer{};
  if (!file.valid()) return {};
  const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
  return got > 0 ? std::string(buffer.data(), static_cast<std::size_t>(got)) : std::string();
}

std::string unquoted(std::string_view value) {
  if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'')) {
    value = value.substr(1, value.size() - 2);
  }
  return sanitize(value);
}

void read_distribution(HostSettings& settings) {
  std::string text = read_small("/etc/os-release");
  if (text.empty()) text = read_small("/usr/lib/os-release");
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, equals);
    const std::string value = unquoted(line.substr(equals + 1));
    if (key == "ID") settings.distribution = value;
    if (key == "ID_LIKE") settings.family = value;
    if (key == "PRETTY_NAME") settings.pretty_name = value;
  }
}

std::optional<std::uint64_t> read_sysctl(const Sysctl& sysctl) {
  std::string text = read_small(sysctl.path);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return parse_number(text);
}

// What looks like a container; empty: nothing.
std::string sign_of_a_container() {
  for (const char* path : {"/.dockerenv", "/run/.containerenv", "/run/systemd/container"}) {
    if (::access(path, F_OK) == 0) return path;
  }
  return ::getenv("container") != nullptr ? "the variable container" : "";
}

// A directory that is no mount is the root: mountinfo, which names mounts as they are seen from the
// root, has none at "/".
bool looks_like_a_chroot() {
  const std::string mounts = read_small("/proc/self/mountinfo");
  if (mounts.empty()) return false;
  for (const std::string_view line : split(mounts, '\n')) {
    const std::vector<std::string_view> fields = split(line, ' ');
    constexpr std::size_t kMountPoint = 4;
    if (fields.size() > kMountPoint && fields[kMountPoint] == "/") return false;
  }
  return true;
}

// 0 without a filter and SECCOMP_MODE_FILTER with one. A filter that refuses the question is one.
bool is_filtered() { return ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0; }

// AppArmor restricts programs without a profile. One that has a profile is called by its name.
bool has_no_profile() {
  std::string label = read_small("/proc/self/attr/apparmor/current");
  if (label.empty()) label = read_small("/proc/self/attr/current");
  return label.empty() || label.starts_with("unconfined");
}

}  // namespace

HostSettings host_settings() {
  HostSettings settings;
  read_distribution(settings);
  for (const Sysctl& sysctl : kSysctls) {
    if (const auto value = read_sysctl(sysctl)) settings.sysctls[sysctl.name] = *value;
  }
  settings.container_sign = sign_of_a_container();
  settings.in_container = !settings.container_sign.empty();
  settings.in_chroot = looks_like_a_chroot();
  settings.filtered = is_filtered();
  settings.uid = ::geteuid();
  settings.may_map_root = settings.uid != 0 || sys::may_map_root();
  return settings;
}

bool suspects_no_namespaces() {
  if (is_filtered()) return true;
  const auto& [app_armor, unprivileged, most] = kSysctls;
  if (read_sysctl(most) == 0U) return true;
  if (::geteuid() == 0) return false;
  return read_sysctl(unprivileged) == 0U || (read_sysctl(app_armor) == 1U && has_no_profile());
}

std::string install_line(const HostSettings& settings, const std::string& package) {
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
  const std::string words = " " + settings.distribution + " " + settings.family + " ";
  for (const Installer& installer : kInstallers) {
    if (words.find(" " + std::string(installer.family) + " ") != std::string::npos) {
      return std::string(installer.command) + package;
    }
  }
  return "install " + package;
}

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
