#include "sandbox/bundle/bundle_init.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "host/inspect.h"
#include "sandbox/bwrap/inside.h"
#include "sandbox/native/container_init.h"
#include "sandbox/native/host_rules.h"

namespace cordon::bundle {
namespace {

// True if the namespace has this one identity and no other.
bool is_only_identity(const char* map, std::uint32_t inside, std::uint32_t outside) {
  constexpr std::size_t kMost = 4096;
  const Fd file(::open(map, O_RDONLY | O_CLOEXEC));
  const auto text = file.valid() ? read_all(file.get(), kMost) : std::nullopt;
  if (!text) return false;
  std::vector<std::string_view> words;
  for (const std::string_view line : split(*text, '\n')) {
    for (const std::string_view word : split(line, ' ')) {
      if (!word.empty()) words.push_back(word);
    }
  }
  return words.size() == 3 && words[0] == std::to_string(inside) &&
         words[1] == std::to_string(outside) && words[2] == "1";
}

// True if no mount here takes over what is mounted or unmounted elsewhere. The tags stand between
// the options and a dash of their own.
bool are_mounts_private() {
  const std::string mounts = native::read_mountinfo();
  const auto lines = split(std::string_view(mounts), '\n');
  const bool shared = std::ranges::any_of(lines, [](std::string_view line) {
    const std::string_view tags = line.substr(0, line.find(" - "));
    return tags.find(" shared:") != std::string_view::npos ||
           tags.find(" master:") != std::string_view::npos;
  });
  return !mounts.empty() && !shared;
}

// The runtime looked its names up anew: whoever can write where one of them leads could have put
// something else there since it was judged.
int attend(const Op& operation, const native::Prepared& prepared, native::BuildState& state) {
  if (!native::shows_what_was_judged(operation)) return -ESTALE;
  if (const auto* map = std::get_if<op::MapIdentity>(&operation)) {
    const bool alone = is_only_identity("/proc/self/uid_map", map->inside_uid, map->outside_uid) &&
                       is_only_identity("/proc/self/gid_map", map->inside_gid, map->outside_gid);
    const bool is_it = ::getuid() == map->inside_uid && ::getgid() == map->inside_gid;
    return alone && is_it ? 0 : -EPERM;
  }
  if (std::holds_alternative<op::PrivateMounts>(operation))
    return are_mounts_private() ? 0 : -EPERM;
  const bool left_to_us = std::holds_alternative<op::LandlockAllow>(operation) ||
                          std::holds_alternative<op::OpenResolver>(operation);
  return left_to_us ? native::carry_out(operation, prepared, state) : 0;
}

}  // namespace

int begin_in_container() { return bwrap::begin_by(kHandedFd, attend, kProbeInside); }

}  // namespace cordon::bundle
