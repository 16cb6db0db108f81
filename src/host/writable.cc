#include "host/writable.h"

#include <sys/stat.h>

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/text.h"
#include "host/inspect.h"
#include "host/survey.h"

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
  return refuse_kernel_files(place, written);
}

std::optional<Error> refuse_kernel_files(const Canonical& place, std::string_view written) {
  if (!contains("/proc", place.path) && !contains("/sys", place.path) && place.path != "/dev")
    return std::nullopt;
  return policy_error("write " + quote(written) + " would hand over the kernel's own files",
                      "no command may write there; remove the entry");
}

std::optional<Error> refuse_own_inside(const Canonical& place, std::string_view written) {
  for (const std::string_view own : {"/proc", "/dev"}) {
    if (contains(own, place.path))
      return policy_error(
          "a grant below " + std::string(own) + " cannot be given: " + quote(written),
          "the sandbox has its own; copy what is needed to a directory elsewhere");
  }
  return std::nullopt;
}

std::optional<Error> refuse_over_own(const Canonical& place, std::string_view written) {
  for (const SystemEntry& entry : system_entries(SystemEntry::Tier::Programs)) {
    if (entry.kind == SystemEntry::Kind::Symlink || !contains(place.path, entry.path)) continue;
    const bool itself = entry.path == place.path;
    return policy_error(
        "write " + quote(written) + " cannot be granted: Cordon makes " +
            (itself ? "this directory itself" : "a " + quote(entry.path) + " of its own there") +
            ", which no command may change",
        "name a directory of yours");
  }
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

const Grant* replaceable_by(const std::vector<Grant>& write, const TracedPath& way,
                            const std::string& own_directory) {
  const auto covering = [&](const std::string& place) -> const Grant* {
    if (!own_directory.empty() && contains(own_directory, place)) return nullptr;
    const auto found = std::ranges::find_if(write, [&](const Grant& grant) {
      return contains(grant.path, place) && (place != grant.path || place == way.end);
    });
    return found == write.end() ? nullptr : &*found;
  };
  for (const PassedPlace* passed : way.passed)
    if (const Grant* grant = covering(passed->path)) return grant;
  return way.missing.empty() ? nullptr : covering(way.missing);
}

namespace {

constexpr std::array kAgents{"aider", "amp",    "claude", "codex",    "copilot", "cursor-agent",
                             "droid", "gemini", "goose",  "opencode", "qwen"};

bool is_program(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string on_path(const std::string& name, const Caller& caller) {
  const auto path = caller.environment.find("PATH");
  if (path == caller.environment.end()) return {};
  for (const std::string_view directory : split(path->second, ':')) {
    if (directory.empty() || directory.front() != '/') continue;
    std::string candidate = join(directory, name);
    if (is_program(candidate)) return candidate;
  }
  return {};
}

bool is_directory_on_path(FileId id, const Caller& caller) {
  const auto path = caller.environment.find("PATH");
  if (path == caller.environment.end()) return false;
  for (const std::string_view directory : split(path->second, ':')) {
    if (!directory.starts_with('/')) continue;
    struct stat status {};
    if (::stat(std::string(directory).c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
        looked(status).id == id) {
      return true;
    }
  }
  return false;
}

std::vector<FoundAgent> find_agents(const Caller& caller) {
  std::vector<FoundAgent> found;
  for (const char* name : kAgents) {
    if (std::string path = on_path(name, caller); !path.empty()) {
      found.push_back({name, std::move(path)});
    }
  }
  return found;
}

namespace {

std::size_t longest(const std::vector<Grant>& grants, std::string_view path) {
  std::size_t length = 0;
  for (const Grant& grant : grants)
    if (contains(grant.path, path)) length = std::max(length, grant.path.size());
  return length;
}

bool any_inside(const std::vector<Grant>& grants, std::string_view path) {
  return std::any_of(grants.begin(), grants.end(),
                     [&](const Grant& grant) { return contains(path, grant.path); });
}

bool lies_in_another(const Grant& grant, const std::vector<Grant>& grants) {
  return std::any_of(grants.begin(), grants.end(), [&](const Grant& other) {
    return other.path != grant.path && contains(other.path, grant.path);
  });
}

}  // namespace

bool GrantPaths::is_granted(std::string_view path) const {
  return longest(effective_.read, path) > 0 || longest(effective_.write, path) > 0;
}

bool GrantPaths::is_writable(std::string_view path) const {
  return longest(effective_.write, path) > longest(effective_.read, path);
}

bool GrantPaths::in_writable_root(std::string_view path) const {
  return longest(effective_.write, path) > 0;
}

bool GrantPaths::is_grant(std::string_view path) const {
  const auto same = [&](const Grant& grant) { return grant.path == path; };
  return std::any_of(effective_.read.begin(), effective_.read.end(), same) ||
         std::any_of(effective_.write.begin(), effective_.write.end(), same);
}

bool GrantPaths::covers_grant(std::string_view path) const {
  return any_inside(effective_.read, path) || any_inside(effective_.write, path);
}

std::vector<const Grant*> GrantPaths::writable_roots() const {
  std::vector<const Grant*> roots;
  for (const Grant& grant : effective_.write)
    if (!lies_in_another(grant, effective_.write)) roots.push_back(&grant);
  return roots;
}

std::vector<const Grant*> GrantPaths::readable_roots() const {
  std::vector<const Grant*> roots;
  for (const Grant& grant : effective_.read)
    if (!lies_in_another(grant, effective_.read) && longest(effective_.write, grant.path) == 0)
      roots.push_back(&grant);
  return roots;
}

}  // namespace cordon
