#include "plan/tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/path.h"
#include "base/text.h"
#include "policy/agents.h"
#include "policy/decide.h"
#include "policy/environment.h"

namespace cordon {

void Tree::directory(const std::string& path, unsigned mode) {
  if (path == "/" || exists(path)) return;
  directory(std::string(parent(path)));
  if (nearest(parent(path)) == Kind::Persistent) {
    operations_.push_back(op::MountPoint{path, FileKind::Directory});
    made_[path] = Kind::Persistent;
    return;
  }
  operations_.push_back(op::MakeDirectory{path, mode});
  made_[path] = Kind::Made;
}

void Tree::file(const std::string& path, std::string content, unsigned mode) {
  if (exists(path)) return;
  directory(std::string(parent(path)));
  operations_.push_back(op::MakeFile{path, std::move(content), mode});
  made_[path] = Kind::Made;
}

void Tree::symlink(const std::string& path, std::string target) {
  if (exists(path)) return;
  directory(std::string(parent(path)));
  operations_.push_back(op::MakeSymlink{path, std::move(target)});
  made_[path] = Kind::Made;
}

void Tree::mount_point(const std::string& path, FileKind kind) {
  if (kind == FileKind::Directory) {
    directory(path);
  } else if (!exists(path) && nearest(parent(path)) == Kind::Persistent) {
    directory(std::string(parent(path)));
    operations_.push_back(op::MountPoint{path, kind});
    made_[path] = Kind::Persistent;
  } else {
    file(path, {});
  }
}

void Tree::bind(const std::string& source, const std::string& path, MountAccess access,
                FileKind kind, FileId id) {
  mount_point(path, kind);
  operations_.push_back(op::Bind{source, path, access, kind, id});
  made_[path] = Kind::Bound;
}

void Tree::staged(op::StagedTree tree) {
  mount_point(tree.path, FileKind::Directory);
  made_[tree.path] = Kind::Staged;
  operations_.push_back(std::move(tree));
}

void Tree::skeleton(const std::string& path, FileId id, std::vector<op::Skeleton::Entry> entries) {
  // An overlay shows the host's directory under a number of its own.
  const bool covers = nearest(path) == Kind::Bound;
  mount_point(path, FileKind::Directory);
  operations_.push_back(op::Skeleton{path, covers ? id : FileId{}, std::move(entries)});
  made_[path] = Kind::Bound;
}

void Tree::bind_system(const std::string& path, FileKind kind) {
  mount_point(path, kind);
  operations_.push_back(op::BindSystem{path});
  made_[path] = Kind::Bound;
}

void Tree::bind_persistent(const std::string& source, const std::string& path) {
  mount_point(path, FileKind::Directory);
  operations_.push_back(
      op::Bind{source, path, MountAccess::ReadWrite, FileKind::Directory, FileId{}});
  made_[path] = Kind::Persistent;
}

void Tree::scratch(const std::string& name, const std::string& path, unsigned mode) {
  directory(path, mode);
  operations_.push_back(op::ScratchDirectory{name, path, mode});
  made_[path] = Kind::Made;
}

Tree::Kind Tree::nearest(std::string_view path) const {
  for (std::string_view at = path; at != "/"; at = parent(at)) {
    if (const auto found = made_.find(at); found != made_.end()) return found->second;
  }
  return Kind::Made;
}

bool Tree::exists(std::string_view path) const {
  if (path == "/" || made_.contains(path)) return true;
  return from_host(parent(path));
}

ShownGrants shown_grants(const Effective& effective, const HostFacts& facts, Plan& plan) {
  ShownGrants shown;
  const auto select = [&](const std::vector<Grant>& from, const char* what,
                          std::vector<Grant>& to) {
    for (const Grant& grant : from) {
      const bool hidden = std::ranges::any_of(
          facts.masked, [&](const Masked& mask) { return contains(mask.path, grant.path); });
      if (!hidden) {
        to.push_back(grant);
      } else {
        plan.reductions.push_back(
            {what, grant.written, std::nullopt, Reduction::Because::Forbidden, grant.origin});
      }
    }
  };
  select(effective.read, "read", shown.read);
  select(effective.write, "write", shown.write);
  return shown;
}

std::vector<LinkedName> linked_names(const ShownGrants& grants, const Caller& caller) {
  std::vector<LinkedName> names = caller.names;
  for (const std::vector<Grant>* list : {&grants.read, &grants.write}) {
    for (const Grant& grant : *list) {
      if (grant.lexical.starts_with('/') && grant.lexical != grant.path)
        names.push_back({grant.lexical, grant.path});
    }
  }
  std::ranges::sort(names);
  std::vector<LinkedName> kept;
  for (LinkedName& one : names) {
    const auto above = [&](const LinkedName& other) { return contains(other.name, one.name); };
    if (std::ranges::none_of(kept, above)) kept.push_back(std::move(one));
  }
  return kept;
}

namespace {

void make_directory(const std::string& path, Plan& plan) {
  plan.build.emplace_back(op::MakeDirectory{path, 0700});
}

void make_home_files(const std::vector<HomeFile>& files, const std::string& home, Plan& plan) {
  std::set<std::string> made;
  for (const HomeFile& file : files) {
    std::string directory = home;
    const std::string place = "/" + file.name;
    for (const std::string_view part : components(parent(place))) {
      directory = join(directory, part);
      if (made.insert(directory).second) make_directory(directory, plan);
    }
    plan.build.emplace_back(op::MakeFile{join(home, file.name), file.content, 0644});
  }
}

}  // namespace

std::vector<std::string> PrivatePlaces::all() const {
  std::vector<std::string> places;
  for (const std::string* place : {&temporary, &home, &caches})
    if (!place->empty()) places.push_back(*place);
  return places;
}

bool shows(const ShownGrants& grants, std::string_view path) {
  const auto covers = [&](const Grant& grant) { return contains(grant.path, path); };
  return std::ranges::any_of(grants.read, covers) || std::ranges::any_of(grants.write, covers);
}

PrivatePlaces plan_private_places(const Effective& effective, const HostFacts& facts,
                                  const Caller& caller, const PlanRequest& request,
                                  const ShownGrants& grants, Plan& plan) {
  PrivatePlaces places;
  const bool has_home = !caller.home.empty() && !shows(grants, caller.home);
  if (effective.scratch) {
    make_directory(request.private_directory, plan);
    if (!shows(grants, "/tmp")) {
      places.temporary = join(request.private_directory, "tmp");
      make_directory(places.temporary, plan);
    }
    if (effective.home == HomeMode::Private && has_home) {
      places.home = join(request.private_directory, "home");
      make_directory(places.home, plan);
      if (!facts.gitconfig.empty()) {
        plan.build.emplace_back(
            op::MakeFile{join(places.home, ".gitconfig"), facts.gitconfig, 0644});
      }
      make_home_files(facts.home_files, places.home, plan);
    }
    plan.limits.push_back({"scratch", *effective.scratch, LimitBy::Watch});
  }
  if (effective.home == HomeMode::Persistent && has_home) places.home = request.persistent_home;
  if (effective.caches && !places.home.empty()) places.caches = request.cache_directory;
  return places;
}

void add_cache_variables(const Effective& effective, const Caller& caller,
                         const std::string& caches, Plan& plan) {
  const auto set = [&](const char* name, const std::string& value) {
    const std::string prefix = std::string(name) + "=";
    const auto is_it = [&](const std::string& one) { return one.starts_with(prefix); };
    if (std::ranges::none_of(plan.environment, is_it)) plan.environment.push_back(prefix + value);
  };
  // The person's own cache, where the policy shows it.
  const auto shown = [&](std::string_view below) -> std::optional<std::string> {
    const std::string path = join(caller.home, below);
    const auto covers = [&](const Grant& grant) { return contains(grant.path, path); };
    if (std::ranges::none_of(effective.read, covers)) return std::nullopt;
    return path;
  };
  set("CARGO_HOME", join(caches, "cargo"));
  set("GOMODCACHE", join(caches, "go-mod"));
  if (const auto own = shown("go/pkg/mod/cache/download"))
    set("GOPROXY", "file://" + *own + ",https://proxy.golang.org,direct");
  set("GRADLE_USER_HOME", join(caches, "gradle"));
  if (const auto own = shown(".gradle/caches/modules-2"))
    set("GRADLE_RO_DEP_CACHE", std::string(parent(*own)));
  set("NUGET_PACKAGES", join(caches, "nuget"));
  if (const auto own = shown(".nuget/packages")) set("NUGET_FALLBACK_PACKAGES", *own);
  set("PIP_CACHE_DIR", join(caches, "pip"));
  set("npm_config_cache", join(caches, "npm"));
  // Maven splits the variable at white space and knows no quotes there.
  if (caches.find_first_of(" \t\n") != std::string::npos) return;
  std::string maven = "-Dmaven.repo.local=" + join(caches, "maven");
  if (const auto own = shown(".m2/repository")) maven += " -Dmaven.repo.local.tail=" + *own;
  set("MAVEN_OPTS", maven);
}

void plan_command_among(const PrivatePlaces& places, const Effective& effective,
                        const Caller& caller, const PlanRequest& request, Plan& plan) {
  plan.argv = request.argv;
  plan.cwd = request.cwd;
  Caller inside = caller;
  if (!places.home.empty()) inside.home = places.home;
  plan_command(effective, inside, plan);
  const auto chosen = [&](const std::string& name) {
    return effective.env.set.contains(name) ||
           std::ranges::find(effective.env.pass, name) != effective.env.pass.end();
  };
  if (!places.temporary.empty() && !chosen("TMPDIR")) {
    std::ranges::replace(plan.environment, std::string("TMPDIR=/tmp"),
                         "TMPDIR=" + places.temporary);
  }
  if (!places.caches.empty() && !chosen("XDG_CACHE_HOME")) {
    plan.environment.push_back("XDG_CACHE_HOME=" + places.caches);
  }
  if (!places.caches.empty()) add_cache_variables(effective, caller, places.caches, plan);
}

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

std::vector<SystemFile> isolated_network_files(bool has_resolver) {
  const char* resolver = has_resolver ? "nameserver 127.0.0.1\n"
                                      : "# no resolver: this sandbox has only its own loopback\n";
  return at(kNetworkFiles, {"127.0.0.1 localhost cordon\n::1 localhost ip6-localhost\n", resolver});
}

void plan_command(const Effective& effective, const Caller& caller, Plan& plan) {
  plan.environment = build_environment(effective, caller, plan.cwd);
  plan.credential = credential_of(effective, caller);
  for (const std::string& variable : effective.env.pass) {
    const auto outside = caller.environment.find(variable);
    if (outside == caller.environment.end() || outside->second.empty()) continue;
    if (!is_withheld(variable, effective.agent, plan.credential)) continue;
    plan.reductions.push_back({"env", variable, std::nullopt, Reduction::Because::Forbidden});
  }
  const std::string& name = plan.argv.front();
  if (name.find('/') != std::string::npos) {
    plan.candidates = {name};
    return;
  }
  constexpr std::string_view kPathVariable = "PATH=";
  for (const std::string& variable : plan.environment) {
    if (!variable.starts_with(kPathVariable)) continue;
    for (const std::string_view directory :
         split(std::string_view(variable).substr(kPathVariable.size()), ':')) {
      if (directory.starts_with('/')) plan.candidates.push_back(join(directory, name));
    }
  }
}

}  // namespace cordon
