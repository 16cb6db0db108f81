#include "plan/system_files.h"

#include <fmt/format.h>

#include "policy/own_places.h"

namespace cordon {
namespace {

template <std::size_t Size>
std::vector<SystemFile> at(const std::array<std::string_view, Size>& paths,
                           std::array<std::string, Size> contents) {
  std::vector<SystemFile> files;
  for (std::size_t i = 0; i < Size; ++i) {
    files.push_back({std::string(paths[i]), std::move(contents[i])});
  }
  return files;
}

}  // namespace

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
  return at(kWrittenFiles,
            {std::move(passwd), std::move(group),
             "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n"
             "protocols: files\nservices: files\n",
             "cordon\n"});
}

std::vector<SystemFile> isolated_network_files(NetMode mode) {
  const char* resolver = mode == NetMode::Allow
                             ? "nameserver 127.0.0.1\n"
                             : "# no resolver: this sandbox has only its own loopback\n";
  return at(kNetworkFiles, {"127.0.0.1 localhost cordon\n::1 localhost ip6-localhost\n", resolver});
}

}  // namespace cordon
