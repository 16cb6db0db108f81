#include "host/writable_bounds.h"

#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/text.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 8> kNoProjectsThemselves = {
    "/", "/home", "/opt", "/snap", "/nix", "/gnu", "/mnt", "/media"};
constexpr std::array<std::string_view, 16> kSystemTrees = {
    "/usr",  "/etc", "/bin",  "/sbin", "/lib", "/lib32", "/lib64",     "/libx32",
    "/boot", "/dev", "/proc", "/sys",  "/run", "/var",   "/nix/store", "/gnu/store"};
// People keep projects below these although they lie in a system tree.
constexpr std::array<std::string_view, 4> kProjectsBelow = {"/usr/src", "/usr/local/src",
                                                            "/run/media", "/var/www"};

bool strictly_contains(std::string_view root, std::string_view path) {
  return root != path && contains(root, path);
}

}  // namespace

bool is_system_directory(std::string_view directory) {
  const auto same = [&](std::string_view place) { return place == directory; };
  const auto within = [&](std::string_view place) { return contains(place, directory); };
  const auto below = [&](std::string_view place) { return strictly_contains(place, directory); };
  if (std::any_of(kNoProjectsThemselves.begin(), kNoProjectsThemselves.end(), same)) return true;
  if (contains("/var/tmp", directory)) return false;
  if (std::any_of(kProjectsBelow.begin(), kProjectsBelow.end(), below)) return false;
  return std::any_of(kSystemTrees.begin(), kSystemTrees.end(), within);
}

bool is_no_project(std::string_view directory, const Caller& caller) {
  bool in_home = false;
  for (const std::string& home : caller.homes) {
    if (contains(directory, home)) return true;
    // Service accounts live in system trees: /var/lib/ci/work is a project of its owner.
    in_home |= home != "/" && contains(home, directory);
  }
  return !in_home && is_system_directory(directory);
}

std::optional<Error> refuse_writable(const Canonical& place, std::string_view written,
                                     const Caller& caller) {
  const std::string named = "write " + quote(written);
  if (place.path == "/")
    return policy_error(named + " would make the whole file system writable",
                        "name the directories the command must write");
  for (const std::string& home : caller.homes) {
    if (place.path == home)
      return policy_error(named + " would make a whole home writable",
                          "name a directory below it, such as ~/project");
    if (contains(place.path, home))
      return policy_error(named + " would make a whole home writable, which lies below it",
                          "name a directory that holds no home");
  }
  if (contains("/proc", place.path) || contains("/sys", place.path) || place.path == "/dev")
    return policy_error(named + " would hand over the kernel's own files",
                        "no command may write there; remove the entry");
  return std::nullopt;
}

std::optional<Error> refuse_granted(const Canonical& place, std::string_view written,
                                    const Caller& caller) {
  if (contains("/proc", place.path))
    return policy_error(quote(written) + " would show the host's processes",
                        "the command has its own /proc; remove the entry");
  for (const std::string* own :
       {&caller.config_directory, &caller.state_directory, &caller.runtime_directory}) {
    if (own->empty()) continue;
    if (contains(*own, place.path))
      return policy_error(quote(written) + " lies in Cordon's own directory " + quote(*own),
                          "name a directory outside of it");
  }
  return std::nullopt;
}

}  // namespace cordon
