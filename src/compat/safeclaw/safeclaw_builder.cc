#include "compat/safeclaw/safeclaw_builder.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/path.h"
#include "base/text.h"
#include "config/node.h"
#include "host/credentials.h"
#include "host/inspect.h"
#include "host/resolve.h"
#include "host/survey.h"
#include "host/writable.h"

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
    if (inspect_path(std::string(path))) found.emplace_back(path);
  }
}

// A link to another of them (/bin on most hosts) needs no rule of its own: a helper takes few.
void add_programs(std::vector<std::string>& found) {
  for (const std::string_view path : kPrograms) {
    const auto seen = inspect_path(std::string(path));
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

namespace {

constexpr std::uint64_t kDefaultTimeout = 30'000;

constexpr std::string_view kLoaded[] = {
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
};

SafeClawAccess both_permit(SafeClawAccess one, SafeClawAccess other) {
  const bool write = writes(one) && writes(other);
  const bool execute = executes(one) && executes(other);
  if (write) return execute ? SafeClawAccess::ReadWriteExecute : SafeClawAccess::ReadWrite;
  return execute ? SafeClawAccess::Execute : SafeClawAccess::Read;
}

bool same(SafeClawAccess one, SafeClawAccess other) {
  return writes(one) == writes(other) && executes(one) == executes(other);
}

}  // namespace

SafeClawBuilder& SafeClawBuilder::add(std::string_view path, SafeClawAccess access) {
  const std::string place = path.starts_with('/') ? normalize(path) : std::string(path);
  auto& rules = built_.policy.allow;
  const auto there = std::ranges::find(rules, place, &SafeClawRule::path);
  if (there == rules.end()) {
    rules.push_back({place, access});
  } else if (!same(there->access, access)) {
    const SafeClawAccess kept = both_permit(there->access, access);
    built_.conflicts.push_back({place, there->access, access, kept});
    there->access = kept;
  }
  return *this;
}

SafeClawBuilder& SafeClawBuilder::add_read_only(std::string_view path) {
  return add(path, SafeClawAccess::Read);
}

SafeClawBuilder& SafeClawBuilder::add_read_execute(std::string_view path) {
  return add(path, SafeClawAccess::Execute);
}

SafeClawBuilder& SafeClawBuilder::add_read_write(std::string_view path) {
  return add(path, SafeClawAccess::ReadWrite);
}

SafeClawBuilder& SafeClawBuilder::add_read_write_execute(std::string_view path) {
  return add(path, SafeClawAccess::ReadWriteExecute);
}

SafeClawBuilder& SafeClawBuilder::set_calls(SafeClawProfile profile) {
  built_.policy.syscalls = safeclaw_calls(profile);
  return *this;
}

SafeClawBuilder& SafeClawBuilder::set_domains(
    const std::optional<std::vector<std::string>>& domains) {
  SafeClawNetwork network;
  network.reach = domains ? SafeClawNetwork::Reach::Domains : SafeClawNetwork::Reach::None;
  if (domains) {
    for (const std::string& domain : *domains) network.allowed.push_back({domain});
  }
  built_.policy.network = std::move(network);
  return *this;
}

SafeClawBuilder& SafeClawBuilder::set_timeout(std::uint64_t milliseconds) {
  built_.policy.timeout_ms = milliseconds;
  return *this;
}

Result<BuiltPolicy> SafeClawBuilder::build() const {
  for (const SafeClawRule& rule : built_.policy.allow) {
    if (!rule.path.starts_with('/')) {
      return fail(
          policy_error("path " + shown(rule.path) + " is not absolute", "write the whole path"));
    }
  }
  if (built_.policy.allow.size() > kSafeClawMostAllow) {
    return fail(policy_error("the policy has more rules than its helper takes",
                             std::to_string(kSafeClawMostAllow) + " are the most"));
  }
  return built_;
}

Result<BuiltPolicy> development_policy(const DevelopmentPlaces& places,
                                       const DevelopmentOptions& options) {
  SafeClawBuilder builder;
  builder.add_read_write_execute(places.cwd).add_read_write(places.temporary);
  for (const std::string& path : places.executable) builder.add_read_execute(path);
  for (const std::string& path : places.readable) builder.add_read_only(path);
  builder.add_read_write("/dev/null").add_read_only("/dev/urandom").add_read_only("/dev/zero");
  for (const std::string& path : options.execute) builder.add_read_execute(path);
  for (const std::string& path : options.read_write) builder.add_read_write(path);
  for (const std::string& path : options.read_only) builder.add_read_only(path);
  return builder.set_calls(SafeClawProfile::Development).set_domains(options.domains).build();
}

Result<BuiltPolicy> default_policy() {
  return SafeClawBuilder()
      .set_calls(SafeClawProfile::Default)
      .set_domains(std::nullopt)
      .set_timeout(kDefaultTimeout)
      .build();
}

Result<BuiltPolicy> minimal_dynamic_policy() {
  SafeClawBuilder builder;
  for (const std::string_view path : kLoaded) builder.add_read_execute(path);
  builder.add_read_execute("/bin").add_read_execute("/usr/bin").add_read_only("/etc/ld.so.cache");
  return builder.set_calls(SafeClawProfile::MinimalDynamic)
      .set_domains(std::nullopt)
      .set_timeout(kDefaultTimeout)
      .build();
}

}  // namespace cordon
