#include "policy/decide.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/path.h"
#include "base/text.h"
#include "policy/deny_match.h"
#include "policy/path_modes.h"

namespace cordon {
namespace {

Verdict allow(std::string rule, std::string reason) {
  return {true, std::move(rule), std::move(reason), {}};
}

Verdict refuse(std::string rule, std::string reason, std::string change) {
  return {false, std::move(rule), std::move(reason), std::move(change)};
}

std::string rule_text(std::string_view list, std::string_view value) {
  std::string text(list);
  return text.append(" \"").append(value).append("\"");
}

std::string spelling(const Grant& grant) {
  return grant.written.empty() ? grant.path : grant.written;
}

// One question, answered by the first check that has something to say, strongest first.
class Decision {
 public:
  Decision(const Clamped& clamped, const HostFacts& facts, const Caller& caller, Access access,
           std::string_view path)
      : effective_(clamped.effective()),
        facts_(facts),
        caller_(caller),
        access_(access),
        path_(path),
        modes_(effective_.read, effective_.write),
        grant_(modes_.deepest(path)) {}

  [[nodiscard]] Verdict verdict() const {
    if (auto found = by_mask()) return *std::move(found);
    if (auto found = by_deny()) return *std::move(found);
    if (auto found = by_git()) return *std::move(found);
    if (auto found = by_hold()) return *std::move(found);
    if (auto found = by_protected_name()) return *std::move(found);
    if (auto found = by_grant()) return *std::move(found);
    if (auto found = by_private_place()) return *std::move(found);
    return by_absence();
  }

 private:
  using Maybe = std::optional<Verdict>;

  [[nodiscard]] bool writes() const { return access_ == Access::Write; }
  [[nodiscard]] Maybe by_mask() const;
  [[nodiscard]] Maybe by_deny() const;
  [[nodiscard]] Maybe by_git() const;
  [[nodiscard]] Maybe by_hold() const;
  [[nodiscard]] Maybe by_protected_name() const;
  [[nodiscard]] Maybe by_grant() const;
  [[nodiscard]] Maybe by_private_place() const;
  [[nodiscard]] Verdict by_absence() const;
  [[nodiscard]] const SystemEntry* system_entry() const;
  [[nodiscard]] Maybe held_at(const Held& held) const;
  [[nodiscard]] Maybe private_place(std::string_view root, std::string rule) const;

  const Effective& effective_;
  const HostFacts& facts_;
  const Caller& caller_;
  Access access_;
  std::string_view path_;
  PathModes modes_;
  const PathEntry* grant_;
};

Decision::Maybe Decision::by_mask() const {
  for (const Masked& masked : facts_.masked) {
    if (!contains(masked.path, path_)) continue;
    return refuse(rule_text("mask", masked.path), masked.reason,
                  "no grant shows it; keep it outside the granted tree");
  }
  return std::nullopt;
}

Decision::Maybe Decision::by_deny() const {
  if (grant_ == nullptr) return std::nullopt;
  for (const DenyGlob& deny : effective_.deny) {
    // From the path up to the grant it lies in: a denied directory takes its content with it.
    for (std::string_view place = path_; contains(grant_->grant->path, place);
         place = parent(place)) {
      if (deny_matches(deny, place)) {
        return refuse(rule_text("deny", deny.written), "a deny wins over every grant",
                      "remove the deny where it was written");
      }
      if (place == "/") break;
    }
  }
  return std::nullopt;
}

Decision::Maybe Decision::held_at(const Held& held) const {
  if (!writes() || !contains(held.path, path_)) return std::nullopt;
  return refuse(rule_text("hold", held.path),
                "protected " + std::string(name_of(held.kind)) +
                    " files inside a writable grant are read-only",
                "make the change outside the sandbox");
}

Decision::Maybe Decision::by_git() const {
  for (const GitDirectory& git : facts_.git) {
    for (const Held& held : git.held) {
      if (auto found = held_at(held)) return found;
    }
    for (const GitDirectory::Config& config : git.configs) {
      if (!writes() || config.path != path_) continue;
      return allow(rule_text("git", config.path),
                   "writes go to a private copy of this run; the file itself stays as it is");
    }
  }
  return std::nullopt;
}

Decision::Maybe Decision::by_hold() const {
  for (const Held& held : facts_.held) {
    if (auto found = held_at(held)) return found;
  }
  return std::nullopt;
}

// Names that are not there yet: the kernel lets them be made, the aftermath moves them away.
Decision::Maybe Decision::by_protected_name() const {
  if (!writes() || grant_ == nullptr || grant_->mode != PathMode::Write) return std::nullopt;
  const std::string& root = grant_->grant->path;
  for (std::string_view place = path_; place != root && place != "/"; place = parent(place)) {
    const std::string_view above = parent(place);
    const ProtectedName* name = find_protected(basename(above), basename(place));
    if (name == nullptr || !is_held_in(*name, above, caller_.homes)) continue;
    // A new repository needs its config; what matters there are single keys.
    if (name->name == ".git/config") continue;
    return refuse(
        rule_text("protected", name->name),
        std::string(name->reason) + "; what appears is moved out of the tree after the run",
        "make the change outside the sandbox");
  }
  return std::nullopt;
}

const SystemEntry* Decision::system_entry() const {
  const SystemEntry* best = nullptr;
  for (const SystemEntry& entry : facts_.system) {
    const bool applies = entry.kind == SystemEntry::Kind::Directory ? contains(entry.path, path_)
                                                                    : entry.path == path_;
    if (applies && (best == nullptr || entry.path.size() > best->path.size())) best = &entry;
  }
  return best;
}

Decision::Maybe Decision::by_grant() const {
  const SystemEntry* system = system_entry();
  const bool grant_is_closer =
      grant_ != nullptr && (system == nullptr || grant_->grant->path.size() >= system->path.size());
  if (!grant_is_closer && system == nullptr) return std::nullopt;
  if (!grant_is_closer) {
    if (!writes()) {
      return allow(rule_text("system", system->path), "loading programs needs it in every sandbox");
    }
    return refuse(rule_text("system", system->path), "system files are read-only", {});
  }
  const std::string text = spelling(*grant_->grant);
  if (grant_->mode == PathMode::Write) {
    return allow(rule_text("write", text), "the closest grant that covers it is writable");
  }
  if (!writes()) return allow(rule_text("read", text), "the closest grant that covers it");
  return refuse(rule_text("read", text), "the closest grant that covers it is read-only",
                "--write " + quote(path_));
}

// A place that exists inside with content of its own: writes succeed and reach nothing outside.
Decision::Maybe Decision::private_place(std::string_view root, std::string rule) const {
  if (!contains(root, path_)) return std::nullopt;
  if (writes()) return allow(std::move(rule), "private to the sandbox; nothing outside changes");
  if (path_ == root) return allow(std::move(rule), "private to the sandbox");
  return refuse(std::move(rule), "the place is private inside; the file outside is not visible",
                "--read " + quote(path_));
}

Decision::Maybe Decision::by_private_place() const {
  if (effective_.home != HomeMode::None && !caller_.home.empty()) {
    std::string rule = rule_text("home =", name_of(effective_.home));
    if (auto found = private_place(caller_.home, std::move(rule))) return found;
  }
  if (effective_.scratch) {
    std::string rule = rule_text("scratch =", format_size(*effective_.scratch));
    for (const std::string_view root : {"/tmp", "/var/tmp", "/dev/shm"}) {
      if (auto found = private_place(root, rule)) return found;
    }
  }
  if (contains("/proc", path_)) {
    if (!writes()) return allow("/proc", "a fresh one that shows the sandbox's own processes");
    return refuse("/proc", "it is read-only inside", {});
  }
  constexpr std::array<std::string_view, 6> kDevices{"/dev/null",   "/dev/zero",    "/dev/full",
                                                     "/dev/random", "/dev/urandom", "/dev/tty"};
  if (std::find(kDevices.begin(), kDevices.end(), path_) != kDevices.end()) {
    return allow("/dev", "one of the few devices every sandbox has");
  }
  return std::nullopt;
}

Verdict Decision::by_absence() const {
  const std::string flag = writes() ? "--write " : "--read ";
  return refuse("no rule", "nothing grants it, so it does not exist inside", flag + quote(path_));
}

}  // namespace

Verdict decide(const Clamped& clamped, const HostFacts& facts, const Caller& caller, Access access,
               std::string_view path) {
  return Decision(clamped, facts, caller, access, path).verdict();
}

}  // namespace cordon
