#include "host/path_shadow.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/text.h"

namespace cordon {
namespace {

bool is_distribution(std::string_view path) {
  return contains("/usr", path) || contains("/bin", path) || contains("/sbin", path);
}

// Typed every day, whether this host has them or not; and the words of shells, which a program of
// that name does not replace but which scripts may call by `env` or `command`.
constexpr std::array<std::string_view, 93> kTyped = {
    ".",      "[",        "alias",  "awk",    "bash",   "bg",      "bun",   "cargo",  "cat",
    "cd",     "chmod",    "chown",  "clear",  "code",   "command", "cp",    "curl",   "cut",
    "dash",   "df",       "diff",   "docker", "du",     "echo",    "emacs", "env",    "eval",
    "exec",   "exit",     "export", "false",  "fg",     "find",    "fish",  "gh",     "git",
    "go",     "grep",     "head",   "jobs",   "kill",   "kubectl", "less",  "ln",     "ls",
    "make",   "man",      "mkdir",  "more",   "mv",     "nano",    "node",  "npm",    "npx",
    "nvim",   "pass",     "perl",   "podman", "printf", "ps",      "pwd",   "python", "python3",
    "read",   "rm",       "rmdir",  "ruby",   "scp",    "sed",     "set",   "sh",     "sort",
    "source", "ssh",      "su",     "sudo",   "tail",   "tar",     "test",  "time",   "top",
    "touch",  "tr",       "true",   "type",   "unset",  "vi",      "vim",   "wget",   "which",
    "xargs",  "xdg-open", "zsh"};
static_assert(std::is_sorted(kTyped.begin(), kTyped.end()));

bool is_sourced(std::string_view name) {
  return lower_case(name).starts_with("activate") || name == "deactivate";
}

}  // namespace

std::vector<std::string> directories_on_path(const Effective& effective, const Caller& caller) {
  std::vector<std::string> directories;
  const bool writes_distribution =
      std::any_of(effective.write.begin(), effective.write.end(),
                  [](const Grant& grant) { return is_distribution(grant.path); });
  const auto path = caller.environment.find("PATH");
  if (effective.write.empty() || path == caller.environment.end()) return directories;
  for (const std::string_view entry : split(path->second, ':')) {
    if (entry.empty() || entry == ".") continue;
    if (is_distribution(entry) && !writes_distribution) continue;
    directories.push_back(entry.front() == '/' ? std::string(entry) : join(caller.cwd, entry));
  }
  return directories;
}

PathShadow::PathShadow(const Caller& caller, const std::vector<Grant>& writable)
    : caller_(caller), writable_(writable) {
  const auto path = caller.environment.find("PATH");
  if (path == caller.environment.end()) return;
  for (const std::string_view entry : split(path->second, ':')) {
    if (!entry.starts_with('/')) continue;
    std::string directory = normalize(entry);
    const auto covers = [&](const Grant& grant) { return contains(grant.path, directory); };
    if (std::ranges::none_of(writable, covers)) directories_.push_back(std::move(directory));
  }
}

bool PathShadow::may_be_installed_into(const std::string& directory) const {
  return std::ranges::any_of(writable_, [&](const Grant& grant) {
    if (directory == grant.path || !contains(grant.path, directory)) return false;
    return std::ranges::none_of(
        caller_.homes, [&](const std::string& home) { return contains(grant.path, home); });
  });
}

std::span<const std::string_view> PathShadow::known_to_all() { return kTyped; }

bool PathShadow::is_known_to_all(std::string_view name) {
  return is_sourced(name) || std::binary_search(kTyped.begin(), kTyped.end(), name);
}

bool PathShadow::hides(std::string_view name) const {
  if (is_known_to_all(name)) return true;
  return std::ranges::any_of(directories_, [&](const std::string& directory) {
    struct stat status {};
    return ::stat(join(directory, name).c_str(), &status) == 0;
  });
}

}  // namespace cordon
