// Ways that links open
//
// A protected name may be a symlink of the project's own, there before any run: a team keeps one
// directory of editor settings and links to it from every package, a hook is a link to a script
// that is under version control. What the host reads is then an ordinary file at an ordinary place,
// and a run that writes there has written the hook. So each link under a protected name is
// followed, before the run, to its end:
//
//   the end            is held like the name itself, a file or a directory
//   every symlink      on the way is pinned, and so is every directory between the first link and
//                      the end: a run that renames one of them and puts its own there would have
//                      led the name elsewhere. What leads to the first link need not be: moved
//                      away with the link in it, it leaves no protected name behind
//   nothing is there   what the name leads to after the run is moved away; so is what stands in
//                      place of an end that was held, since the kernel takes a mount away from a
//                      file that somebody outside replaces
//
// Links lie in what is held, too: `.vscode/tasks.json -> ../cfg/tasks.json`. The copy that covers
// `.vscode` has the link, and the command writes through it into the host's file. So directories
// that are held are searched for links, and those that links lead to are held and then searched.
// Nothing that leaves the writable grants is held or pinned, for nothing there can be written. Two
// places that are held have links of other kinds as well:
//
//   `.claude/worktrees`   Claude Code keeps working trees there, each a project of its own, and
//                         links what is large into them: `node_modules` of the project would be
//                         held. So each is searched by names, as a grant is. A link in place of
//                         such a tree is not followed: what it leads to is searched where it is.
//   directories on PATH   Commands are links to what the project builds. The name decides, as it
//                         does for a file there (host/path_shadow.h): `bin/git -> ../tools/git.sh`
//                         is followed, and `bin/tool` is not. In a directory that no run can
//                         write, `~/bin`, only the names that everybody types are. A command that
//                         lies in the same directory of packages as its link is what a package
//                         manager put there, and it has to be able to do so again.
//
// docs/adr/0098-ways-that-links-open.md has the reasons.
#include "host/linked_ways.h"

#include <algorithm>

#include "base/path.h"
#include "base/text.h"
#include "host/path_shadow.h"
#include "host/walk.h"

namespace cordon {
namespace {

// In one of the projects of `.claude/worktrees`; beside those of walk_state.
constexpr WalkedDirectory::State kInProject = 16;

// Every symlink in what is held.
class HeldLinks final : public TreeVisitor {
 public:
  HeldLinks(HoldKind kind, const Classifier& classifier, std::vector<WayLink>& out)
      : kind_(kind), classifier_(classifier), out_(out) {}

  void visit(WalkedDirectory& directory) override {
    const bool agent = directory.name() == ".claude";
    const bool trees =
        directory.name() == "worktrees" && basename(parent(directory.path())) == ".claude";
    for (const DirectoryEntry& entry : directory.entries()) {
      const bool is_directory = entry.type == EntryType::Directory;
      if ((directory.state() & kInProject) != 0) {
        visit_in_project(directory, entry);
      } else if (trees) {
        if (is_directory) directory.descend(entry, kInProject);
      } else if (is_directory) {
        directory.descend(entry, 0);
      } else if (entry.type == EntryType::Symlink && !(agent && entry.name == "worktrees")) {
        add(directory, entry, kind_);
      }
    }
  }

 private:
  void visit_in_project(WalkedDirectory& directory, const DirectoryEntry& entry) {
    const std::optional<HoldKind> held = held_as(directory, entry);
    if (entry.type == EntryType::Symlink) {
      if (held) add(directory, entry, *held);
      const std::string link = join(directory.path(), entry.name);
      for (const NameBehind& behind : classifier_.held_behind(directory, entry))
        out_.push_back({link, join(link, behind.last), behind.name->kind, false});
    } else if (entry.type == EntryType::Directory) {
      // Of a git directory, what git runs; its storage has no links.
      if (held) {
        directory.descend(entry, 0);
      } else if (directory.name() != ".git") {
        directory.descend(entry, Classifier::below(directory, entry));
      }
    }
  }

  [[nodiscard]] std::optional<HoldKind> held_as(const WalkedDirectory& directory,
                                                const DirectoryEntry& entry) const {
    if (directory.name() == ".git") {
      const ProtectedName* name = find_protected(".git", entry.name);
      const bool runs = name != nullptr && name->action == HoldAction::Hold;
      return runs ? std::optional(name->kind) : std::nullopt;
    }
    const auto protection = classifier_.protection(directory, entry);
    const bool holds = protection && protection->action == HoldAction::Hold;
    return holds && protection->kind != HoldKind::Path ? std::optional(protection->kind)
                                                       : std::nullopt;
  }

  void add(const WalkedDirectory& directory, const DirectoryEntry& entry, HoldKind kind) {
    const std::string link = join(directory.path(), entry.name);
    out_.push_back({link, link, kind, false});
  }

  HoldKind kind_;
  const Classifier& classifier_;
  std::vector<WayLink>& out_;
};

bool is_searched(HoldKind kind, FileKind file) {
  return file == FileKind::Directory && kind != HoldKind::Path && kind != HoldKind::Denied;
}

class WayFollower {
 public:
  WayFollower(const GrantPaths& grants, const Classifier& classifier, const HostFacts& facts)
      : grants_(grants), classifier_(classifier) {
    for (const Held& held : facts.held) add_held(held.path, held.kind, held.file);
    for (const GitDirectory& git : facts.git) {
      for (const Held& held : git.held) add_held(held.path, held.kind, held.file);
      for (const GitDirectory::Config& config : git.configs) held_.insert(config.path);
    }
  }

  Result<LinkedWays> run(std::vector<WayLink> links) {
    while (true) {
      for (const WayLink& way : links) follow(way);
      links.clear();
      if (unsearched_.empty()) return finish();
      const auto [path, kind] = std::move(unsearched_.back());
      unsearched_.pop_back();
      HeldLinks inner(kind, classifier_, links);
      CORDON_CHECK(walk_tree(path, 0, inner));
    }
  }

 private:
  // A file in a directory that is held as a whole cannot be written, whoever replaces it.
  LinkedWays finish() {
    for (const LinkedWays::End& end : found_.ends)
      if (is_held(parent(end.path))) found_.led.erase(end.link);
    return std::move(found_);
  }

  void add_held(const std::string& path, HoldKind kind, FileKind file) {
    held_.insert(path);
    if (is_searched(kind, file)) unsearched_.emplace_back(path, kind);
  }

  [[nodiscard]] bool is_held(std::string_view path) const {
    for (; path != "/"; path = parent(path))
      if (held_.contains(path)) return true;
    return false;
  }

  void follow(const WayLink& way) {
    const TracedPath traced = trace_.to(way.end);
    const auto first = std::ranges::find(traced.passed, way.link, &PassedPlace::path);
    for (auto at = first; at != traced.passed.end(); ++at) {
      const auto& [path, seen] = **at;
      // The end itself is held and not pinned.
      if (path == traced.end || !grants_.is_writable(path) || grants_.is_grant(path)) continue;
      if (seen.symlink || seen.kind == FileKind::Directory)
        found_.steps.push_back(
            {path, seen, way.kind, !is_held(path) && (way.pins || path != way.link)});
    }
    if (!traced.missing.empty() && grants_.is_writable(traced.missing)) found_.led.insert(way.end);
    if (traced.end.empty() || !grants_.is_writable(traced.end) || is_held(traced.end)) return;
    if (grants_.covers_grant(traced.end)) return found_.open.push_back(way);
    const auto seen = inspect_path(traced.end);
    if (!seen) return;
    found_.ends.push_back({traced.end, *seen, way.kind, way.end});
    found_.led.insert(way.end);
    add_held(traced.end, way.kind, seen->kind);
  }

  const GrantPaths& grants_;
  const Classifier& classifier_;
  PathTrace trace_;
  std::vector<std::pair<std::string, HoldKind>> unsearched_;  // directories
  std::set<std::string, std::less<>> held_;
  LinkedWays found_;
};

}  // namespace

namespace {

bool is_ascii(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

// Which names a directory has, so that what is not there need not be looked up: a home has few of
// the hundred protected ones. Where that cannot be told it may have any: a directory may be entered
// and not listed, somebody may have filled it without end, and where a file system folds case, a
// letter outside of ASCII may stand for one of ASCII.
class NamesThere {
 public:
  explicit NamesThere(int directory) {
    const Fd fd = open_beneath(directory, ".", kOpenDirectory);
    DirectoryNames names;
    if (!fd.valid() || names.read_portion(fd.get()) || !names.at_end()) return;
    known_ = true;
    for (const DirectoryEntry& entry : names.entries()) {
      known_ = known_ && is_ascii(entry.name);
      folded_.push_back(lower_case(entry.name));
    }
    std::ranges::sort(folded_);
  }

  [[nodiscard]] bool may_have(std::string_view name) const {
    return !known_ || !is_ascii(name) || std::ranges::binary_search(folded_, lower_case(name));
  }

 private:
  bool known_ = false;
  std::vector<std::string> folded_;
};

// Looked up by name: a home may be entered and not listed, and names are all that counts in it.
class HomeLinks {
 public:
  HomeLinks(const std::string& home, int directory, std::vector<WayLink>& out)
      : home_(home), directory_(directory), there_(directory), out_(out) {}

  // False if nothing of that name is there.
  [[nodiscard]] bool may_have(std::string_view name) const {
    return there_.may_have(name.substr(0, name.find('/')));
  }

  void add(std::string_view name, HoldKind kind) {
    const std::size_t slash = name.find('/');
    const std::string first(name.substr(0, slash));
    auto seen = inspect_name(directory_, first);
    if (!seen) return;
    // `~/.config -> project/config`: then `config/nvim` is what the name means.
    if (seen->symlink) return put(first, name, kind);
    if (slash != std::string_view::npos) {
      const Fd above = open_beneath(directory_, first, O_PATH | O_DIRECTORY);
      seen = above.valid() ? inspect_name(above.get(), std::string(name.substr(slash + 1)))
                           : std::nullopt;
      if (!seen) return;
      if (seen->symlink) return put(name, name, kind);
    }
    if (is_searched(kind, seen->kind)) list(name, kind);
  }

 private:
  void put(std::string_view link, std::string_view end, HoldKind kind) {
    out_.push_back({join(home_, link), join(home_, end), kind, false});
  }

  // `.config/fish/config.fish`, as whoever links single files has it.
  void list(std::string_view name, HoldKind kind) {
    const Fd fd = open_beneath(directory_, name, kOpenDirectory);
    if (!fd.valid()) return;
    names_.read(fd.get());
    for (const DirectoryEntry& entry : names_.entries()) {
      if (entry.type != EntryType::Symlink) continue;
      const std::string link = join(name, entry.name);
      put(link, link, kind);
    }
  }

  const std::string& home_;
  int directory_;
  NamesThere there_;
  DirectoryNames names_;
  std::vector<WayLink>& out_;
};

}  // namespace

namespace {

std::vector<std::string_view> all_names(const ProtectRules& rules) {
  std::vector<std::string_view> names(rules.add.begin(), rules.add.end());
  for (const ProtectedName& name : protected_names()) names.push_back(name.name);
  return names;
}

// As what `name` is held directly in a home.
std::optional<HoldKind> held_in(const std::string& home, std::string_view name,
                                const Caller& caller, const ProtectRules& rules) {
  const std::string place = join(home, name);
  const std::string_view directory = parent(place);
  const ProtectedName* meant = find_protected(basename(directory), basename(place), rules);
  const bool held = meant != nullptr && is_held_in(*meant, directory, caller.homes);
  return held ? std::optional(meant->kind) : std::nullopt;
}

}  // namespace

std::vector<WayLink> links_in_homes(const Caller& caller, const ProtectRules& rules) {
  const std::vector<std::string_view> names = all_names(rules);
  std::vector<WayLink> links;
  for (const std::string& home : caller.homes) {
    const Fd fd = open_canonical(home, O_PATH | O_DIRECTORY);
    if (!fd.valid()) continue;
    HomeLinks found(home, fd.get(), links);
    for (const std::string_view name : names) {
      if (!found.may_have(name)) continue;
      if (const auto kind = held_in(home, name, caller, rules)) found.add(name, *kind);
    }
  }
  return links;
}

std::vector<std::string> held_in_homes(const Caller& caller, const ProtectRules& rules) {
  std::vector<std::string> paths;
  for (const std::string& home : caller.homes) {
    for (const std::string_view name : all_names(rules)) {
      std::string place = join(home, name);
      if (held_in(home, name, caller, rules) && inspect_path(place))
        paths.push_back(std::move(place));
    }
  }
  return paths;
}

namespace {

// The outermost directory of packages that `path` lies in; empty if it lies in none.
std::string_view packages_of(std::string_view path) {
  std::string_view found;
  for (std::string_view at = parent(path); at != "/"; at = parent(at))
    if (is_package_directory(basename(at))) found = at;
  return found;
}

bool stays_in_packages(const std::string& link, const TracedPath& way) {
  const std::string_view packages = packages_of(link);
  const std::string& end = way.end.empty() ? way.missing : way.end;
  return !packages.empty() && contains(packages, end);
}

// The first symlink of the way that a run could replace.
const PassedPlace* first_link(const TracedPath& way, const GrantPaths& grants) {
  const auto found = std::ranges::find_if(way.passed, [&](const PassedPlace* place) {
    return place->info.symlink && grants.is_writable(place->path);
  });
  return found != way.passed.end() ? *found : nullptr;
}

}  // namespace

std::vector<WayLink> links_on_path(const Effective& effective, const Caller& caller) {
  // From a directory that cannot be looked at, on a network that is gone, no shell starts anything.
  const LookFailures unreachable;
  const GrantPaths grants(effective);
  const PathShadow shadow(caller, effective.write);
  PathTrace trace;
  DirectoryNames names;
  std::vector<WayLink> links;
  for (const std::string& spelled : directories_on_path(effective, caller)) {
    const TracedPath way = trace.to(spelled);
    if (way.end.empty()) continue;
    if (const PassedPlace* link = first_link(way, grants))
      links.push_back({link->path, spelled, HoldKind::Path});
    const auto add = [&](std::string_view name) {
      std::string link = join(way.end, name);
      if (!stays_in_packages(link, trace.to(link)))
        links.push_back({link, link, HoldKind::Path, false});
    };
    const Fd fd = open_canonical(way.end, kOpenDirectory);
    if (!fd.valid()) {
      // A shell needs no list of it.
      for (const std::string_view name : PathShadow::known_to_all()) {
        const PassedPlace* seen = trace.seen(join(way.end, name));
        if (seen != nullptr && seen->info.symlink) add(name);
      }
      continue;
    }
    const bool own = grants.is_writable(way.end);
    names.read(fd.get());
    for (const DirectoryEntry& entry : names.entries()) {
      const bool counts = own ? shadow.hides(entry.name) : PathShadow::is_known_to_all(entry.name);
      if (entry.type == EntryType::Symlink && counts) add(entry.name);
    }
  }
  return links;
}

Result<LinkedWays> follow_links(std::vector<WayLink> links, const GrantPaths& grants,
                                const Classifier& classifier, const HostFacts& facts) {
  return WayFollower(grants, classifier, facts).run(std::move(links));
}

}  // namespace cordon
