#include "host/development_places.h"

#include <array>
#include <span>

#include "base/path.h"
#include "base/text.h"
#include "host/credentials.h"
#include "host/look.h"
#include "host/resolve.h"
#include "host/survey.h"
#include "host/writable_bounds.h"

namespace cordon {
namespace {

// Programs, the libraries they load, what compilers and interpreters are made of.
constexpr std::array<std::string_view, 14> kPrograms{"/bin",
                                                     "/sbin",
                                                     "/lib",
                                                     "/lib64",
                                                     "/usr/bin",
                                                     "/usr/sbin",
                                                     "/usr/lib",
                                                     "/usr/lib64",
                                                     "/usr/libexec",
                                                     "/usr/local/bin",
                                                     "/usr/local/sbin",
                                                     "/usr/local/lib",
                                                     "/usr/local/lib64",
                                                     "/usr/local/libexec"};
constexpr std::array<std::string_view, 4> kShared{"/usr/include", "/usr/local/include",
                                                  "/usr/share", "/usr/local/share"};

// A sandbox with its own mounts brings the first six itself. Account names and hosts are no
// secrets.
constexpr std::array<std::string_view, 22> kOfSystem{
    "/etc/passwd",       "/etc/group",          "/etc/nsswitch.conf", "/etc/hosts",
    "/etc/resolv.conf",  "/etc/gitconfig",      "/etc/alternatives",  "/etc/ca-certificates",
    "/etc/ld.so.cache",  "/etc/ld.so.conf",     "/etc/ld.so.conf.d",  "/etc/locale.alias",
    "/etc/localtime",    "/etc/mime.types",     "/etc/os-release",    "/etc/perl",
    "/etc/pki/ca-trust", "/etc/pki/tls/certs",  "/etc/protocols",     "/etc/services",
    "/etc/ssl/certs",    "/etc/ssl/openssl.cnf"};

constexpr std::array<std::string_view, 14> kOfHome{".gitconfig",         ".config/git/config",
                                                   ".config/git/ignore", ".config/git/attributes",
                                                   ".local/bin",         ".npm",
                                                   ".cache/pip",         ".cache/go-build",
                                                   ".cargo/registry",    ".cargo/git",
                                                   ".gradle/caches",     ".gradle/wrapper",
                                                   ".m2/repository",     "go/pkg"};

void add_present(std::span<const std::string_view> paths, std::vector<std::string>& found) {
  for (const std::string_view path : paths) {
    if (look_path(std::string(path))) found.emplace_back(path);
  }
}

// A link to another of them (/bin on most hosts) needs no rule of its own: a helper takes few.
void add_programs(std::vector<std::string>& found) {
  for (const std::string_view path : kPrograms) {
    const auto seen = look_path(std::string(path));
    if (seen && !seen->symlink) found.emplace_back(path);
  }
}

void add_readable_in_home(const Caller& caller, std::vector<std::string>& found) {
  if (caller.home.empty()) return;
  for (const std::string_view name : kOfHome) {
    const std::string path = join(caller.home, name);
    const auto real = canonicalize(path, "/", caller);
    // A link on the way may lead to anything, also to a credential.
    if (!real || real->path != path) continue;
    const bool kept = real->kind == FileKind::Directory || real->kind == FileKind::Regular;
    if (kept && !may_hold_store(path, caller)) found.push_back(path);
  }
}

// Java's settings lie in a directory for each version.
void add_java(std::vector<std::string>& found) {
  for (const SystemEntry& entry : system_entries(SystemEntry::Tier::Programs)) {
    if (entry.path.starts_with("/etc/java-")) found.push_back(entry.path);
  }
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
  add_programs(places.executable);
  for (std::string& root : toolchain_roots(caller, {places.cwd})) {
    if (!may_hold_store(root, caller)) places.executable.push_back(std::move(root));
  }
  add_present(kShared, places.readable);
  places.readable.emplace_back("/proc/self");
  add_present(kOfSystem, places.readable);
  add_java(places.readable);
  add_readable_in_home(caller, places.readable);
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
