#include "plan/system_files.h"

#include <fmt/format.h>

namespace cordon {

std::vector<SystemFile> system_files(std::uint32_t uid, std::uint32_t gid, const std::string& user,
                                     const std::string& home) {
  constexpr std::uint32_t kOverflowId = 65534;
  // The caller may be called root while the uid inside is another one.
  const std::string name = user.empty() || user == "root" ? "user" : user;
  std::string passwd = "root:x:0:0:root:/:/bin/sh\n";
  std::string group = "root:x:0:\n";
  if (uid != kOverflowId) {
    passwd += fmt::format("{}:x:{}:{}::{}:/bin/sh\n", name, uid, gid, home.empty() ? "/" : home);
  }
  if (gid != kOverflowId) group += fmt::format("{}:x:{}:\n", name, gid);
  passwd += "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n";
  group += "nogroup:x:65534:\n";
  return {{"/etc/passwd", std::move(passwd)},
          {"/etc/group", std::move(group)},
          {"/etc/nsswitch.conf",
           "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n"
           "protocols: files\nservices: files\n"},
          {"/etc/hostname", "cordon\n"}};
}

std::vector<SystemFile> isolated_network_files(NetMode mode) {
  const char* resolver = mode == NetMode::Allow
                             ? "nameserver 127.0.0.1\n"
                             : "# no resolver: this sandbox has only its own loopback\n";
  return {{"/etc/hosts", "127.0.0.1 localhost cordon\n::1 localhost ip6-localhost\n"},
          {"/etc/resolv.conf", resolver}};
}

}  // namespace cordon
