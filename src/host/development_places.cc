#include "host/development_places.h"

#include <array>

#include "base/path.h"
#include "base/text.h"
#include "host/credentials.h"
#include "host/look.h"
#include "host/resolve.h"
#include "host/survey.h"
#include "host/writable_bounds.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 14> kOfHome{".gitconfig",         ".config/git/config",
                                                   ".config/git/ignore", ".config/git/attributes",
                                                   ".local/bin",         ".npm",
                                                   ".cache/pip",         ".cache/go-build",
                                                   ".cargo/registry",    ".cargo/git",
                                                   ".gradle/caches",     ".gradle/wrapper",
                                                   ".m2/repository",     "go/pkg"};

// A sandbox with its own mounts brings these itself. Account names and hosts are no secrets.
constexpr std::array<std::string_view, 6> kOfSystem{"/etc/passwd",        "/etc/group",
                                                    "/etc/nsswitch.conf", "/etc/hosts",
                                                    "/etc/resolv.conf",   "/etc/gitconfig"};

std::vector<std::string> readable_in_home(const Caller& caller) {
  std::vector<std::string> found;
  if (caller.home.empty()) return found;
  for (const std::string_view name : kOfHome) {
    const std::string path = join(caller.home, name);
    const auto real = canonicalize(path, "/", caller);
    // A link on the way may lead to anything, also to a credential.
    if (!real || real->path != path) continue;
    const bool kept = real->kind == FileKind::Directory || real->kind == FileKind::Regular;
    if (kept && !may_hold_store(path, caller)) found.push_back(path);
  }
  return found;
}

std::vector<std::string> readable_in_system() {
  std::vector<std::string> found;
  for (const SystemEntry& entry : system_entries(SystemEntry::Tier::Programs)) {
    if (entry.path.starts_with("/etc/")) found.push_back(entry.path);
  }
  for (const std::string_view path : kOfSystem) {
    if (look_path(std::string(path))) found.emplace_back(path);
  }
  return found;
}

std::string temporary_directory(const Caller& caller) {
  const auto set = caller.environment.find("TMPDIR");
  return set != caller.environment.end() && set->second.starts_with('/') ? set->second : "/tmp";
}

}  // namespace

Result<std::string> writable_place(std::string_view written, const Caller& caller) {
  CORDON_TRY(place, canonicalize(written, caller.cwd, caller));
  if (auto refused = refuse_writable(place, written, caller)) return fail(std::move(*refused));
  if (auto refused = refuse_granted(place, written, caller)) return fail(std::move(*refused));
  return place.path;
}

Result<DevelopmentPlaces> development_places(const Caller& caller) {
  if (is_no_project(caller.cwd, caller)) {
    return fail(policy_error("the current directory " + quote(caller.cwd) + " is no project",
                             "change into a project"));
  }
  DevelopmentPlaces places;
  CORDON_TRY(cwd, writable_place(caller.cwd, caller));
  CORDON_TRY(temporary, writable_place(temporary_directory(caller), caller));
  places.cwd = std::move(cwd);
  places.temporary = std::move(temporary);
  for (std::string& root : toolchain_roots(caller)) {
    if (!may_hold_store(root, caller)) places.toolchains.push_back(std::move(root));
  }
  places.system_read = readable_in_system();
  places.home_read = readable_in_home(caller);
  return places;
}

std::vector<std::string> coverable_stores(const Caller& caller) {
  std::vector<std::string> paths;
  for (const Masked& store : credential_stores(caller)) {
    if (store.file == FileKind::Directory || store.file == FileKind::Regular) {
      paths.push_back(store.path);
    }
  }
  return paths;
}

}  // namespace cordon
