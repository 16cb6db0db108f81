#include "host/machine.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "base/fd.h"
#include "host/directory_names.h"
#include "host/look.h"
#include "policy/own_places.h"

namespace cordon {
namespace {

// An ordinary user cannot read most of them; root, and a careless mode, can.
constexpr std::array kSecrets = std::to_array<std::string_view>({
    "/etc/NetworkManager/system-connections",
    "/etc/docker",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ipsec.secrets",
    "/etc/krb5.keytab",
    "/etc/kubernetes",
    "/etc/letsencrypt",
    "/etc/machine-id",
    "/etc/openvpn",
    "/etc/pki/tls/private",
    "/etc/ppp",
    "/etc/security/opasswd",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/wireguard",
    "/run/secrets",
    "/var/backups",
    "/var/lib/docker",
    "/var/lib/sss",
    "/var/spool/cron",
});

}  // namespace

std::vector<SystemEntry> root_entries() {
  std::vector<SystemEntry> entries;
  const Fd root(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return entries;
  DirectoryNames names;
  names.read(root.get());
  for (const DirectoryEntry& entry : names.entries()) {
    const std::string name(entry.name);
    switch (entry.type) {
      case EntryType::Directory:
        entries.push_back({"/" + name, SystemEntry::Kind::Directory, {}});
        break;
      case EntryType::Regular:
        entries.push_back({"/" + name, SystemEntry::Kind::File, {}});
        break;
      case EntryType::Symlink:
        if (auto target = read_link(root.get(), name))
          entries.push_back({"/" + name, SystemEntry::Kind::Symlink, std::move(*target)});
        break;
      case EntryType::Other:
        break;
    }
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

bool is_kernel_tree(std::string_view path) {
  return path == "/proc" || path == "/sys" || path == "/dev";
}

std::vector<std::string> network_files() {
  std::vector<std::string> found;
  for (const std::string_view path : kNetworkFiles) {
    std::string file(path);
    struct stat status {};
    if (::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      found.push_back(std::move(file));
    }
  }
  return found;
}

bool attaching_is_forbidden() {
  const Fd file(::open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC));
  char scope = '0';
  return file.valid() && ::read(file.get(), &scope, 1) == 1 && scope == '3';
}

std::vector<std::string_view> machine_secrets() {
  std::vector<std::string_view> found;
  for (const std::string_view path : kSecrets)
    if (look_path(std::string(path))) found.push_back(path);
  return found;
}

}  // namespace cordon
