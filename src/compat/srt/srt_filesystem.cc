#include "compat/srt/srt_filesystem.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/path.h"
#include "config/decode.h"
#include "config/node.h"
#include "config/section.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 2> kEntryKeys{"path", "literal"};

// `text` below `place`, which is canonical: its parents are what they are spelled.
std::string below(std::string place, std::string_view text) {
  while (text == ".." || text.starts_with("../")) {
    place = parent(place);
    text.remove_prefix(std::min<std::size_t>(3, text.size()));
  }
  return join(place, text);
}

}  // namespace

Result<SrtEntry> read_srt_entry(const Section& table, const Node& node, const Places& places,
                                ForeignTables& tables) {
  const std::string* text = node.text();
  bool literal = false;
  if (text == nullptr) {
    CORDON_TRY(form, tables.open(node, "filesystem", kEntryKeys, UnknownKeys::Refused));
    CORDON_TRY(path, form.text("path"));
    CORDON_TRY(flag, form.flag("literal"));
    if (!path) return fail(form.error_at(node, "missing key \"path\""));
    text = path->text;
    literal = flag.value_or(false);
  }
  if (text->empty()) return fail(table.error_at(node, "empty path"));
  if (literal && is_glob(*text)) {
    return fail(table.error_at(node, "path " + shown(*text) + " holds a wildcard character"));
  }
  SrtEntry entry{*text, is_glob(*text), &node};
  const bool at_home = entry.path == "~" || entry.path.starts_with("~/");
  if (at_home || !entry.path.starts_with('/')) {
    const std::string& place = at_home ? places.home : places.cwd;
    if (!place.starts_with('/') || is_glob(place)) {
      return fail(table.error_at(
          node, "path " + shown(*text) + " cannot be written out below " + shown(place)));
    }
    entry.path = at_home ? place + entry.path.substr(1) : below(place, entry.path);
    tables.lose("filesystem", shown(*text) + " is written out as " + shown(entry.path));
  }
  // Only a trailing "/**" is known in lists that are not patterns.
  if (entry.path.ends_with("/**") && !is_glob(entry.path.substr(0, entry.path.size() - 3))) {
    entry.path.resize(std::max<std::size_t>(entry.path.size() - 3, 1));
    entry.pattern = false;
  }
  entry.path = normalize(entry.path);
  if (auto legal = check_path_entry(entry.path, PathUse::Read); !legal) {
    return fail(placed(table, node, std::move(legal).error()));
  }
  if (has_dotdot(entry.path)) {
    return fail(table.error_at(node, "path " + shown(*text) + " has \"..\" in it",
                               "write the path that is meant"));
  }
  return entry;
}

namespace {

// Each becomes a mount.
constexpr std::size_t kMostPaths = 1000;

class Beside {
 public:
  Beside(const std::vector<std::string>& closed, const Places& places)
      : closed_(closed), places_(places) {}

  Result<void> add(const std::string& path) {
    if (std::find(closed_.begin(), closed_.end(), path) != closed_.end()) return {};
    const bool holds_closed = std::any_of(
        closed_.begin(), closed_.end(), [&](const auto& closed) { return contains(path, closed); });
    if (!holds_closed) {
      if (found_.size() >= kMostPaths) {
        return fail(policy_error("more than " + std::to_string(kMostPaths) +
                                     " paths lie beside those of \"denyRead\" that \"allowRead\" "
                                     "or \"allowWrite\" opens in part",
                                 "deny \"/\" and open what is to be read by \"allowRead\""));
      }
      found_.push_back(path);
      return {};
    }
    CORDON_TRY(children, places_.children(path));
    for (const std::string& child : children) CORDON_CHECK(add(child));
    return {};
  }

  [[nodiscard]] std::vector<std::string> take() && { return std::move(found_); }

 private:
  const std::vector<std::string>& closed_;
  const Places& places_;
  std::vector<std::string> found_;
};

// The largest paths below `roots` that hold none of `closed`, without `closed` themselves. All are
// canonical. A root that holds nothing closed is its own answer; any other one is written out as
// what lies beside the closed paths now.
Result<std::vector<std::string>> readable_beside(const std::vector<std::string>& roots,
                                                 const std::vector<std::string>& closed,
                                                 const Places& places) {
  Beside beside(closed, places);
  for (const std::string& root : roots) CORDON_CHECK(beside.add(root));
  return std::move(beside).take();
}

constexpr std::array<std::string_view, 6> kKeys{"denyRead",  "allowRead",      "allowWrite",
                                                "denyWrite", "allowGitConfig", "disabled"};
using Paths = std::vector<std::string>;

bool any_holds(const Paths& roots, const std::string& path) {
  return std::any_of(roots.begin(), roots.end(),
                     [&](const std::string& root) { return contains(root, path); });
}

// What every sandbox has of its own: asked for, it is there, and the host's is not.
bool is_own_place(const std::string& path) {
  return contains("/dev", path) || contains("/proc", path);
}

constexpr std::string_view kTemporary = "/tmp";

class SrtFiles {
 public:
  SrtFiles(const Section& fs, const Places& places, ForeignTables& tables, FsRules& rules)
      : fs_(fs), places_(places), tables_(tables), rules_(rules) {}

  Result<void> read();
  // Whether the host's /tmp is shown, and not to be written.
  [[nodiscard]] bool shows_temporary() const;

 private:
  Result<std::vector<SrtEntry>> entries(std::string_view key, bool required);
  Result<void> read_writable();
  Result<std::string> place_of(const SrtEntry& held);
  [[nodiscard]] bool is_hidden(const std::string& path) const;
  [[nodiscard]] bool keeps(const std::string& held, const std::string& path) const;
  Result<void> hold(const std::string& path);
  Result<void> refuse_links(const SrtEntry& entry);
  void pin(const std::string& path);
  Result<void> read_readable();
  Result<Paths> read_reopened();

  const Section& fs_;
  const Places& places_;
  ForeignTables& tables_;
  FsRules& rules_;
  Paths writable_;
  Paths held_;    // never to be written
  Paths masked_;  // denied inside a grant
};

Result<std::vector<SrtEntry>> SrtFiles::entries(std::string_view key, bool required) {
  if (required) CORDON_CHECK(require_key(fs_, key));
  std::vector<SrtEntry> found;
  const Node* list = fs_.find(key);
  if (list == nullptr) return found;
  if (list->list() == nullptr) {
    return fail(fs_.error_at(*list, fs_.title(key) + " must be a list"));
  }
  for (const Node& node : *list->list()) {
    CORDON_TRY(one, read_srt_entry(fs_, node, places_, tables_));
    found.push_back(std::move(one));
  }
  return found;
}

// There a path that must not be written wins over every grant, longer or shorter; in a policy the
// longer one wins, so writable paths inside are left out.
Result<void> SrtFiles::read_writable() {
  CORDON_TRY(allowed, entries("allowWrite", true));
  CORDON_TRY(denied, entries("denyWrite", true));
  for (const SrtEntry& entry : allowed) {
    if (entry.pattern) {
      return fail(fs_.error_at(*entry.node, "pattern " + shown(entry.path) + " cannot be granted",
                               "name the directories that may be written"));
    }
    if (auto legal = check_path_entry(entry.path, PathUse::Write); !legal) {
      return fail(placed(fs_, *entry.node, std::move(legal).error()));
    }
    // An earlier command may have left the link, to be granted what it leads to.
    CORDON_TRY(real, places_.real(entry.path));
    if (real != entry.path) {
      return fail(fs_.error_at(*entry.node,
                               "writable path " + shown(entry.path) + " leads through a link",
                               "write " + shown(real) + " if that is meant"));
    }
    if (is_own_place(entry.path)) {
      tables_.lose("filesystem.allowWrite", shown(entry.path) + ": the sandbox has its own");
      continue;
    }
    bool withheld = false;
    for (const SrtEntry& held : denied) {
      if (held.pattern) continue;
      CORDON_TRY(inside, lies_in(held.path, entry.path, places_));
      withheld = withheld || inside;
    }
    if (withheld) {
      tables_.lose("filesystem.allowWrite", shown(entry.path) + " lies in a path of \"denyWrite\"");
    } else {
      writable_.push_back(entry.path);
    }
  }
  for (const std::string& path : writable_) rules_.write.push_back({path, {}});
  for (const SrtEntry& held : denied) {
    CORDON_TRY(path, place_of(held));
    held_.push_back(std::move(path));
  }
  // Its list of protected files has this one beside those that no run may write. A link of this
  // name is left alone: a rule would open what it leads to, and an earlier command may have left
  // it.
  Paths roots = writable_;
  roots.push_back(places_.cwd);
  for (const std::string& root : roots) {
    std::string path = join(root, ".gitmodules");
    const auto real = places_.real(path);
    if (real && *real == path) held_.push_back(std::move(path));
  }
  return {};
}

Result<std::string> SrtFiles::place_of(const SrtEntry& held) {
  if (held.pattern) {
    return fail(fs_.error_at(
        *held.node, "pattern " + shown(held.path) + " cannot be held as a path that is only read",
        "name the directory, or deny it altogether by \"denyRead\""));
  }
  CORDON_CHECK(refuse_links(held));
  return places_.real(held.path);
}

// A rule of its own would open what a deny hides.
bool SrtFiles::is_hidden(const std::string& path) const {
  return std::any_of(masked_.begin(), masked_.end(), [&](const std::string& mask) {
    const auto opens = [&](const std::string& root) {
      return contains(mask, root) && contains(root, path);
    };
    return contains(mask, path) && std::none_of(writable_.begin(), writable_.end(), opens);
  });
}

// Whether the rule of a held path covers `path`: a writable path between both is the longer rule.
bool SrtFiles::keeps(const std::string& held, const std::string& path) const {
  const auto opens_again = [&](const std::string& root) {
    return root != held && contains(held, root) && contains(root, path);
  };
  return contains(held, path) && std::none_of(writable_.begin(), writable_.end(), opens_again);
}

// Keeps one path inside a writable one as it is.
Result<void> SrtFiles::hold(const std::string& path) {
  const bool covered = std::any_of(held_.begin(), held_.end(), [&](const std::string& other) {
    return other != path && keeps(other, path);
  });
  if (covered || !any_holds(writable_, path) || is_hidden(path)) return {};
  pin(path);
  CORDON_TRY(exists, places_.exists(path));
  // A rule for a path that is not there would be none; a deny is held against what appears.
  (exists ? rules_.read : rules_.deny).push_back({path, {}});
  return {};
}

// A link inside a writable path can be replaced, and the name would then lead to something that may
// be written.
Result<void> SrtFiles::refuse_links(const SrtEntry& entry) {
  std::string path;
  for (const std::string_view name : components(entry.path)) {
    CORDON_TRY(directory, places_.real(path.empty() ? "/" : path));
    path.append("/").append(name);
    CORDON_TRY(real, places_.real(path));
    const std::string itself = join(directory, name);
    if (real != itself && any_holds(writable_, itself)) {
      return fail(fs_.error_at(*entry.node,
                               shown(itself) + " is a link in a writable path and cannot be held",
                               "replace it by what it leads to, or name " + shown(real)));
    }
  }
  return {};
}

// Directories on the way to a held path could be renamed, and others be put in their place, unless
// they are mounts of their own.
void SrtFiles::pin(const std::string& path) {
  const auto is_kept = [&](const std::string& place) {
    return std::any_of(held_.begin(), held_.end(),
                       [&](const std::string& held) { return keeps(held, place); });
  };
  for (std::string_view place = parent(path);
       any_holds(writable_, std::string(place)) && !is_kept(std::string(place));
       place = parent(place)) {
    const PathRule rule{std::string(place), {}};
    if (std::find(rules_.write.begin(), rules_.write.end(), rule) == rules_.write.end()) {
      rules_.write.push_back(rule);
    }
    if (place == "/") return;
  }
}

Result<Paths> SrtFiles::read_reopened() {
  CORDON_TRY(reopened, entries("allowRead", false));
  Paths found;
  for (const SrtEntry& entry : reopened) {
    if (entry.pattern) {
      tables_.lose("filesystem.allowRead", shown(entry.path) + ": patterns open nothing");
      continue;
    }
    if (is_own_place(entry.path)) {
      tables_.lose("filesystem.allowRead", shown(entry.path) + ": the sandbox has its own");
      continue;
    }
    // What the link leads to was not named, and an earlier command may have left it.
    CORDON_TRY(real, places_.real(entry.path));
    if (real != entry.path) {
      tables_.lose("filesystem.allowRead", shown(entry.path) + " leads through a link");
    } else {
      found.push_back(real);
    }
  }
  return found;
}

Result<void> SrtFiles::read_readable() {
  CORDON_TRY(denied, entries("denyRead", true));
  CORDON_TRY(reopened, read_reopened());
  Paths opened = reopened;
  opened.insert(opened.end(), writable_.begin(), writable_.end());
  Paths closed;  // left out of the grants
  for (const SrtEntry& entry : denied) {
    CORDON_TRY(real, entry.pattern ? Result<std::string>(entry.path) : places_.real(entry.path));
    // Of two entries for one path there the one that opens it wins. It is still only to be read.
    if (!entry.pattern && std::find(reopened.begin(), reopened.end(), real) != reopened.end()) {
      if (any_holds(writable_, real)) held_.push_back(real);
      continue;
    }
    const bool in_part = std::any_of(opened.begin(), opened.end(), [&](const std::string& path) {
      return path != real && contains(real, path);
    });
    if (real == "/" || (!entry.pattern && in_part && !any_holds(writable_, real))) {
      closed.push_back(real);
    } else {
      rules_.deny.push_back({entry.path, {}});
      if (!entry.pattern) masked_.push_back(real);
    }
  }
  Paths roots{"/"};
  for (const std::string& path : reopened) {
    if (any_holds(masked_, path) || std::find(closed.begin(), closed.end(), path) != closed.end()) {
      tables_.lose("filesystem.allowRead", shown(path) + " lies in a denied path");
    } else if (path != "/") {
      roots.push_back(path);
    }
  }
  // A sandbox has its own of these. There the caller's /tmp is shown; where "/" is written out in
  // parts, the place in /var/tmp where the caller stands has to be named.
  for (const std::string& path : {std::string(kTemporary), places_.cwd}) {
    if (!contains(kTemporary, path) && !contains("/var/tmp", path)) continue;
    CORDON_TRY(real, places_.real(path));
    const bool open = !any_holds(masked_, path) && !any_holds(closed, path);
    const bool shown = std::any_of(roots.begin(), roots.end(), [&](const std::string& root) {
      return root != "/" && contains(root, path);
    });
    if (real == path && open && !shown) roots.push_back(path);
  }
  CORDON_TRY(readable, readable_beside(roots, closed, places_));
  for (const std::string& path : readable) {
    // What may be written may be read; a rule of its own would make it read-only.
    if (!any_holds(writable_, path)) rules_.read.push_back({path, {}});
  }
  return {};
}

bool SrtFiles::shows_temporary() const {
  const PathRule rule{std::string(kTemporary), {}};
  return std::find(rules_.read.begin(), rules_.read.end(), rule) != rules_.read.end();
}

Result<void> SrtFiles::read() {
  CORDON_CHECK(read_writable());
  CORDON_CHECK(read_readable());
  for (const std::string& path : held_) CORDON_CHECK(hold(path));
  constexpr std::uint64_t kSrtScratch = 1ULL << 30U;
  rules_.scratch = kSrtScratch;
  return {};
}

}  // namespace

Result<void> read_srt_filesystem(const Section& top, const Places& places, ForeignTables& tables,
                                 Policy& policy) {
  CORDON_CHECK(require_key(top, "filesystem"));
  CORDON_TRY(fs, tables.member(top, "", "filesystem", kKeys, UnknownKeys::Refused));
  CORDON_TRY(disabled, fs.flag("disabled"));
  if (disabled && *disabled) {
    return fail(fs.error_at_key(*fs.find("disabled"), "\"disabled\" takes every file rule away",
                                "remove it: a run is always contained"));
  }
  CORDON_TRY(git, fs.flag("allowGitConfig"));
  if (git) {
    tables.lose("filesystem.allowGitConfig",
                "what runs nothing and leads nowhere else reaches .git/config in any case; the "
                "rest is held back for \"cordon changes\"");
  }
  SrtFiles files(fs, places, tables, policy.fs);
  CORDON_CHECK(files.read());
  // Temporary files need a place that can be written: this one is the sandbox's own in any case.
  if (files.shows_temporary()) policy.env.set["TMPDIR"] = "/dev/shm";
  return {};
}

}  // namespace cordon
