#include "host/resolve.h"

#include <fcntl.h>

#include <algorithm>
#include <array>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "host/credentials.h"
#include "host/deny_rules.h"
#include "host/git/enclosing.h"
#include "host/git/layout.h"
#include "host/inspect.h"
#include "host/survey.h"
#include "host/walk.h"
#include "host/writable.h"
#include "policy/approval.h"
#include "policy/environment.h"

namespace cordon {
namespace {

// What lies outside /usr and is still part of the system: package stores, and state that programs
// cannot start without (TeX formats, gems of the distribution, font caches, what the distribution's
// packages installed).
constexpr std::array<std::string_view, 10> kSystemPlaces = {
    "/opt",      "/nix/store",    "/gnu/store",     "/snap",         "/etc/chromium.d",
    "/etc/dpkg", "/var/lib/dpkg", "/var/lib/texmf", "/var/lib/gems", "/var/cache/fontconfig"};

// What tools of builds have downloaded, below a home. They read it again and again; nothing in it
// is a setting.
constexpr std::array<std::string_view, 7> kCaches = {
    ".cache/ms-playwright", ".cargo/registry", ".gradle/caches/modules-2", ".gradle/wrapper/dists",
    ".m2/repository",       ".nuget/packages", "go/pkg/mod/cache/download"};
// Go's modules lie beside a directory of clones (cache/vcs), each with a configuration that may
// have a password in an address. So what is granted is each module tree by itself.
constexpr std::string_view kModules = "go/pkg/mod";
constexpr std::string_view kNoModules = "cache";

enum class RequestedAccess { Read, Write };

std::string_view word(RequestedAccess access) {
  return access == RequestedAccess::Read ? "read" : "write";
}

Grant make_grant(const PathRule& rule, const Canonical& place, Grant::Source source) {
  return {rule.text, place.lexical, place.path, source, place.kind, place.id, rule.origin};
}

void add_places(const PathRule& rule, std::span<const std::string> paths, Grant::Source source,
                const Caller& caller, std::vector<Grant>& out) {
  for (const std::string& path : paths) {
    if (!inspect_path(path)) continue;
    const Result<Canonical> place = canonicalize(path, "/", caller);
    if (place && place->kind == FileKind::Directory)
      out.push_back(make_grant(rule, *place, source));
  }
}

std::vector<std::string> caches_of(const std::string& home) {
  std::vector<std::string> places;
  for (const std::string_view cache : kCaches) places.push_back(join(home, cache));
  const std::string modules = join(home, kModules);
  const Fd directory(::open(modules.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC));
  DirectoryNames names;
  if (!directory.valid() || !names.read(directory.get())) return places;
  for (const DirectoryEntry& entry : names.entries()) {
    if (entry.type == EntryType::Directory && entry.name != kNoModules)
      places.push_back(join(modules, entry.name));
  }
  return places;
}

void add_caches(const PathRule& rule, const Caller& caller, std::vector<Grant>& out) {
  if (caller.home.empty()) return;
  for (const std::string& cache : caches_of(caller.home)) {
    if (!inspect_path(cache)) continue;
    const Result<Canonical> place = canonicalize(cache, "/", caller);
    if (!place || place->kind != FileKind::Directory) continue;
    // No link below the home is followed: a run that could once write there would choose with it
    // what the next one reads. Who keeps a cache elsewhere grants that place by its name.
    if (place->path != cache || is_in_store(place->path, caller)) continue;
    out.push_back(make_grant(rule, *place, Grant::Source::Cache));
  }
}

// Where runs could have left something behind: what may be written now, and the project, which a
// policy that only reads it now may have been able to write before.
std::vector<std::string> run_writable(const std::vector<Grant>& write, const Caller& caller) {
  std::vector<std::string> places;
  for (const Grant& grant : write) places.push_back(grant.path);
  if (!is_no_project(caller.cwd, caller)) places.push_back(caller.cwd);
  return places;
}

// True if the rule was one of the groups. `writable` is what the document may write.
Result<bool> add_group(const PathRule& rule, RequestedAccess access,
                       const std::vector<Grant>& writable, const Caller& caller,
                       std::vector<Grant>& out) {
  if (rule.text != "@system" && rule.text != "@toolchains" && rule.text != "@caches") return false;
  if (access == RequestedAccess::Write)
    return fail(policy_error("write " + quote(rule.text) + " would let a command change the system",
                             "it may only be read"));
  if (rule.text == "@system") {
    const std::vector<std::string> places(kSystemPlaces.begin(), kSystemPlaces.end());
    add_places(rule, places, Grant::Source::System, caller, out);
  } else if (rule.text == "@caches") {
    add_caches(rule, caller, out);
  } else {
    add_places(rule, toolchain_roots(caller, run_writable(writable, caller)),
               Grant::Source::Toolchain, caller, out);
  }
  return true;
}

// What a `.git` file at the top of the workspace adds.
void add_worktree(const Grant& workspace, RequestedAccess access, const Caller& caller,
                  std::vector<Grant>& out, std::vector<Reduction>& reductions) {
  if (workspace.path != caller.cwd || workspace.kind != FileKind::Directory) return;
  const std::optional<WorktreePointer> pointer = follow_git_file(workspace.path, caller);
  if (!pointer) return;
  if (!pointer->leads_back) {
    reductions.push_back(
        {std::string(word(access)), pointer->written, std::nullopt, Reduction::Because::Forbidden});
    return;
  }
  for (const Canonical& place : pointer->directories) {
    if (refuse_writable(place, place.path, caller) || refuse_granted(place, place.path, caller))
      continue;
    out.push_back(
        make_grant({pointer->written, workspace.path}, place, Grant::Source::GitDirectory));
  }
}

constexpr std::string_view kRepository = "@repo";

bool names_repository(const std::vector<PathRule>& rules) {
  return std::ranges::any_of(rules, [](const PathRule& rule) { return rule.text == kRepository; });
}

// Looked for only where a list names it.
std::optional<EnclosingRepository> named_repository(const FsRules& fs, const Caller& caller) {
  if (!names_repository(fs.read) && !names_repository(fs.write)) return std::nullopt;
  return find_enclosing_repository(caller);
}

bool grants_cover(const std::vector<Grant>& grants, std::string_view path) {
  return std::ranges::any_of(grants,
                             [&](const Grant& grant) { return contains(grant.path, path); });
}

// What one list of a policy is resolved with, and what it answers besides its grants.
struct ListAsk {
  RequestedAccess access;
  const Caller& caller;
  const std::optional<EnclosingRepository>& repository;
  std::vector<Reduction>& reductions;
  std::vector<NamedPath>& named;
};

// An option that cannot be granted refuses; in a document the word means the repository where there
// is one.
Result<void> add_repository(const PathRule& rule, const ListAsk& ask, std::vector<Grant>& out) {
  const bool option = rule.origin == Origin::Option;
  const std::string named = std::string(word(ask.access)) + " " + quote(rule.text);
  if (!ask.repository) {
    if (!option) return {};
    return fail(policy_error(named + ": the current directory lies in no git repository",
                             "name the directory instead"));
  }
  const Canonical& top = ask.repository->top;
  if (!ask.repository->refusal.empty()) {
    if (option)
      return fail(policy_error(named + ": the repository " + quote(top.path) +
                                   " is not granted by that word: " + ask.repository->refusal,
                               "name the directory instead"));
    const Reduction left{"repository", top.path, std::nullopt, Reduction::Because::Forbidden};
    // At its own top nothing is missing: it is the current directory.
    if (top.path != ask.caller.cwd &&
        std::ranges::find(ask.reductions, left) == ask.reductions.end())
      ask.reductions.push_back(left);
    return {};
  }
  ask.named.push_back({top.path, top.path});
  const bool writes = ask.access == RequestedAccess::Write;
  out.push_back(make_grant(rule, top, writes ? Grant::Source::Policy : Grant::Source::Repository));
  return {};
}

// The git directories of a repository: to be written where the current directory is.
void add_git_of(const std::optional<EnclosingRepository>& repository, const Caller& caller,
                std::vector<Grant>& read, std::vector<Grant>& write) {
  if (!repository || !repository->refusal.empty()) return;
  const std::string& top = repository->top.path;
  if (!grants_cover(read, top) && !grants_cover(write, top)) return;
  std::vector<Grant>& list = grants_cover(write, caller.cwd) ? write : read;
  for (const Canonical& place : repository->git) {
    if (grants_cover(list, place.path)) continue;
    list.push_back(make_grant({place.path, {}}, place, Grant::Source::GitDirectory));
  }
}

Error no_project(const Caller& caller) {
  const bool own_inside = contains("/dev", caller.cwd) || contains("/proc", caller.cwd);
  return policy_error("the current directory " + quote(caller.cwd) + " is not a project directory",
                      own_inside
                          ? "copy the project to a directory elsewhere: the sandbox has a /dev and "
                            "a /proc of its own"
                          : "change into a project, use --policy readonly, or name a --write "
                            "PATH");
}

// One list of a policy. A current directory that is no project is dropped from the writable paths
// if others are named, and refused if it is all there is.
Result<std::vector<Grant>> resolve_list(const std::vector<PathRule>& rules, const ListAsk& ask,
                                        const std::vector<Grant>& writable) {
  const auto& [access, caller, repository, reductions, named] = ask;
  std::vector<Grant> out;
  bool others = false;
  for (const PathRule& rule : rules) others |= rule.text != "@cwd" && rule.text != kRepository;
  for (const PathRule& rule : rules) {
    if (rule.text == kRepository) {
      CORDON_CHECK(add_repository(rule, ask, out));
      continue;
    }
    CORDON_TRY(group, add_group(rule, access, writable, caller, out));
    if (group) continue;
    if (access == RequestedAccess::Write && rule.text == "@cwd" &&
        is_no_project(caller.cwd, caller)) {
      if (!others) return fail(no_project(caller));
      reductions.push_back(
          {"write", rule.text, std::nullopt, Reduction::Because::Forbidden, rule.origin});
      continue;
    }
    CORDON_TRY(place, canonicalize(rule.text, rule.base, caller));
    named.push_back({place.lexical, place.path});
    if (auto refusal = refuse_granted(place, rule.text, caller)) return fail(*std::move(refusal));
    if (access == RequestedAccess::Write)
      if (auto refusal = refuse_writable(place, rule.text, caller))
        return fail(*std::move(refusal));
    if (is_in_store(place.path, caller) || is_in_store(place.lexical, caller)) {
      reductions.push_back({std::string(word(access)), rule.text, std::nullopt,
                            Reduction::Because::Forbidden, rule.origin});
      continue;
    }
    if (place.kind == FileKind::Absent) {
      reductions.push_back({std::string(word(access)), rule.text, std::nullopt,
                            Reduction::Because::Nonexistent, rule.origin});
      continue;
    }
    const Grant grant = make_grant(rule, place, Grant::Source::Policy);
    out.push_back(grant);
    add_worktree(grant, access, caller, out, reductions);
  }
  return out;
}

Result<std::vector<Grant>> resolve_ceiling_list(const std::vector<PathRule>& rules,
                                                RequestedAccess access,
                                                const std::vector<Grant>& writable,
                                                const Caller& caller,
                                                std::vector<NamedPath>& named) {
  std::vector<Grant> out;
  for (const PathRule& rule : rules) {
    if (rule.text == kRepository) continue;  // add_bound_repository()
    CORDON_TRY(group, add_group(rule, access, writable, caller, out));
    if (group) continue;
    CORDON_TRY(place, canonicalize(rule.text, rule.base, caller));
    named.push_back({place.lexical, place.path});
    // A ceiling may bound writes by a home: no request for the whole of it passes resolve().
    if (access == RequestedAccess::Write && place.path == "/")
      return fail(*refuse_writable(place, rule.text, caller));
    if (place.kind != FileKind::Absent)
      out.push_back(make_grant(rule, place, Grant::Source::Policy));
  }
  return out;
}

// Of the variables for builds that a preset offers, those are asked for that the caller has. One
// that may hold a password is left out, unless an option names it: nobody named it.
void choose_build_variables(Policy& policy, const Caller& caller,
                            std::vector<Reduction>& reductions) {
  const auto leaves_out = [&](const std::string& name) {
    const auto& options = policy.options.env;
    if (!is_build_variable(name) || std::ranges::find(options, name) != options.end()) return false;
    const auto found = caller.environment.find(name);
    if (found == caller.environment.end()) return true;
    if (!may_hold_login(found->second)) return false;
    reductions.push_back({"env", name, std::nullopt, Reduction::Because::Login});
    return true;
  };
  std::erase_if(policy.env.pass, leaves_out);
}

// The git directories that what may be written lies in, or is.
std::vector<std::string> git_directories(const std::vector<Grant>& write) {
  std::vector<std::string> found;
  for (const Grant& grant : write)
    for (std::string& directory : git_directories_above(grant.path))
      found.push_back(std::move(directory));
  return found;
}

// A path that leads elsewhere by now, or to another object, is not what was approved.
std::optional<Grant> approved_place(const Approval& approval, const Caller& caller) {
  const Result<Canonical> place = canonicalize_existing(approval.path, "/", caller);
  if (!place || place->path != approval.path || place->id != approval.object) return std::nullopt;
  return make_grant({approval.path, {}}, *place, Grant::Source::Policy);
}

// What a ceiling permits by the word: to read the repository and to write its git directory where
// the current directory may be written.
void add_bound_repository(const FsRules& fs, const Caller& caller, std::vector<Grant>& read,
                          std::vector<Grant>& write) {
  const auto repository = named_repository(fs, caller);
  if (!repository || !repository->refusal.empty()) return;
  const PathRule rule{std::string(kRepository), {}};
  if (names_repository(fs.write))
    write.push_back(make_grant(rule, repository->top, Grant::Source::Policy));
  if (names_repository(fs.read))
    read.push_back(make_grant(rule, repository->top, Grant::Source::Repository));
  add_git_of(repository, caller, read, write);
}

Result<ResolvedAsk> resolve_ask(const AskRules& rules, const Caller& caller) {
  std::vector<NamedPath> named;  // a person sees where it leads
  CORDON_TRY(write, resolve_ceiling_list(rules.write, RequestedAccess::Write, {}, caller, named));
  CORDON_TRY(read, resolve_ceiling_list(rules.read, RequestedAccess::Read, write, caller, named));
  FsRules asked;
  asked.read = rules.read;
  asked.write = rules.write;
  add_bound_repository(asked, caller, read, write);
  return ResolvedAsk{std::move(read), std::move(write)};
}

void admit_approved(ResolvedCeiling& out, const ResolvedAsk& ask,
                    std::span<const Approval> approved, const Caller& caller) {
  for (const Approval& approval : approved) {
    if (approval.kind == Approval::Kind::Net) {
      admit_host(out.ceiling, approval.host);
    } else if (const auto place = approved_place(approval, caller)) {
      const bool writes = approval.kind == Approval::Kind::Write;
      admit_path(out, ask, writes ? PathMode::Write : PathMode::Read, *place);
    }
  }
}

Error at_ceiling(Error error, const Ceiling& ceiling) {
  if (!error.place && !ceiling.id.empty()) error.place = Place{ceiling.id, 0, 0};
  return error;
}

Result<ResolvedCeiling> resolve_ceiling(const Ceiling& ceiling, const Caller& caller,
                                        std::span<const Approval> approved) {
  ResolvedCeiling out;
  out.ceiling = ceiling;
  auto write =
      resolve_ceiling_list(ceiling.policy.fs.write, RequestedAccess::Write, {}, caller, out.named);
  if (!write) return fail(at_ceiling(std::move(write).error(), ceiling));
  auto read = resolve_ceiling_list(ceiling.policy.fs.read, RequestedAccess::Read, *write, caller,
                                   out.named);
  if (!read) return fail(at_ceiling(std::move(read).error(), ceiling));
  add_bound_repository(ceiling.policy.fs, caller, *read, *write);
  auto deny = resolve_denies(ceiling.policy.fs.deny, caller);
  if (!deny) return fail(at_ceiling(std::move(deny).error(), ceiling));
  auto sockets = resolve_ceiling_sockets(ceiling.policy.net.sockets, caller, out.named);
  if (!sockets) return fail(at_ceiling(std::move(sockets).error(), ceiling));
  out.sockets = std::move(*sockets);
  out.read = std::move(*read);
  out.write = std::move(*write);
  out.deny = std::move(*deny);
  if (!out.write.empty() || !approved.empty()) out.held = held_places(caller);
  out.held.git = git_directories(out.write);
  out.held.protect = ceiling.policy.protect;
  if (approved.empty()) return out;
  const auto ask = resolve_ask(ceiling.ask, caller);
  if (!ask) return fail(at_ceiling(ask.error(), ceiling));
  admit_approved(out, *ask, approved, caller);
  return out;
}

}  // namespace

// An empty or relative entry of PATH means another directory wherever the caller stands.
HeldPlaces held_places(const Caller& caller) {
  HeldPlaces places;
  places.homes = caller.homes;
  const auto path = caller.environment.find("PATH");
  if (path == caller.environment.end()) return places;
  for (const std::string_view entry : split(path->second, ':')) {
    if (!entry.starts_with('/')) continue;
    const Result<Canonical> place = canonicalize(entry, "/", caller);
    if (place && place->kind == FileKind::Directory) places.on_path.push_back(place->path);
  }
  return places;
}

Result<Resolved> resolve(const Policy& policy, const Caller& caller) {
  Resolved out;
  out.policy = policy;
  // What may be written is known first: toolchains are not looked for through it.
  std::vector<Reduction> of_write;
  std::vector<NamedPath> named_to_write;
  const auto repository = named_repository(policy.fs, caller);
  CORDON_TRY(
      write,
      resolve_list(policy.fs.write,
                   {RequestedAccess::Write, caller, repository, of_write, named_to_write}, {}));
  CORDON_TRY(
      read,
      resolve_list(policy.fs.read,
                   {RequestedAccess::Read, caller, repository, out.reductions, out.named}, write));
  add_git_of(repository, caller, read, write);
  out.reductions.insert(out.reductions.end(), of_write.begin(), of_write.end());
  out.named.insert(out.named.end(), named_to_write.begin(), named_to_write.end());
  CORDON_TRY(deny, resolve_denies(policy.fs.deny, caller));
  CORDON_TRY(sockets, resolve_sockets(policy.net.sockets, caller, out.reductions, out.named));
  out.read = std::move(read);
  out.write = std::move(write);
  out.deny = std::move(deny);
  out.sockets = std::move(sockets);
  choose_build_variables(out.policy, caller, out.reductions);
  out.held.homes = caller.homes;
  out.held.git = git_directories(out.write);
  return out;
}

Result<ResolvedCeiling> resolve(const Ceiling& ceiling, const Caller& caller,
                                std::span<const Approval> approved) {
  if (ceiling.id != kSystemCeiling || caller.home == caller.account_home)
    return resolve_ceiling(ceiling, caller, approved);
  Caller account = caller;
  account.home = caller.account_home;
  return resolve_ceiling(ceiling, account, approved);
}

Result<std::vector<ResolvedCeiling>> resolve_ceilings(const std::vector<Ceiling>& ceilings,
                                                      const Caller& caller,
                                                      std::span<const Approval> approved) {
  std::vector<ResolvedCeiling> resolved;
  resolved.reserve(ceilings.size());
  for (const Ceiling& ceiling : ceilings) {
    CORDON_TRY(one, resolve(ceiling, caller, approved));
    resolved.push_back(std::move(one));
  }
  return resolved;
}

}  // namespace cordon
