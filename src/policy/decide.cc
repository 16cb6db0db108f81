#include "policy/decide.h"

#include <optional>

#include "base/path.h"
#include "base/text.h"
#include "policy/decide_own.h"
#include "policy/deny_match.h"
#include "policy/own_places.h"
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
        grant_(modes_.deepest(path)) {
    if (grant_ != nullptr && !shows(grant_->grant->path, path, facts)) grant_ = nullptr;
  }

  [[nodiscard]] Verdict verdict() const {
    if (auto found = by_mask()) return *std::move(found);
    if (auto found = by_deny()) return *std::move(found);
    if (auto found = by_git()) return *std::move(found);
    if (auto found = by_hold()) return *std::move(found);
    if (auto found = by_protected_name()) return *std::move(found);
    if (auto found = by_grant()) return *std::move(found);
    if (auto found = decide_own(effective_, facts_, caller_, access_, path_)) {
      return *std::move(found);
    }
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
  [[nodiscard]] Verdict by_absence() const;
  [[nodiscard]] const SystemEntry* system_entry() const;
  [[nodiscard]] Maybe held_at(const Held& held) const;

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
  return refuse(
      rule_text("hold", held.path),
      "protected " + std::string(name_of(held.kind)) +
          " files inside a writable grant stay as they are: a run changes a private copy, "
          "or cannot write them",
      "cordon changes apply takes what a run made of it");
}

Decision::Maybe Decision::by_git() const {
  for (const GitDirectory& git : facts_.git) {
    for (const Held& held : git.held) {
      if (auto found = held_at(held)) return found;
    }
    for (const GitDirectory::Unseen& one : git.unseen) {
      if (!writes() || !contains(one.path, path_)) continue;
      return allow(rule_text("git", one.path),
                   "writes go to a private copy of this run, which does not see the worktree that "
                   "it belongs to; only its HEAD is written back");
    }
    for (const GitDirectory::Config& config : git.configs) {
      if (!writes() || config.path != path_) continue;
      return allow(
          rule_text("git", config.path),
          "writes go to a private copy of this run; the file itself gets only new remotes, "
          "branches and submodules of it");
    }
  }
  return std::nullopt;
}

Decision::Maybe Decision::by_hold() const {
  for (const Held& held : facts_.held) {
    auto found = held_at(held);
    if (found && effective_.trust_tracked) {
      found->reason += "; what a local branch of yours has at this path goes through";
    }
    if (found) return found;
  }
  return std::nullopt;
}

// Names that are not there yet: the kernel lets them be made, the aftermath moves them away.
Decision::Maybe Decision::by_protected_name() const {
  if (!writes() || grant_ == nullptr || grant_->mode != PathMode::Write) return std::nullopt;
  const std::string& root = grant_->grant->path;
  for (std::string_view place = path_; place != root && place != "/"; place = parent(place)) {
    const std::string_view above = parent(place);
    const ProtectRules& rules = effective_.protect;
    const ProtectedName* name = find_protected(basename(above), basename(place), rules);
    if (name == nullptr || !is_held_in(*name, above, caller_.homes)) continue;
    // A new repository needs its config; what matters there are single keys.
    if (name->name == ".git/config") continue;
    return refuse(
        rule_text("protected", name->kind == HoldKind::Operator
                                   ? added_name(basename(above), basename(place), rules)
                                   : name->name),
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
    if (access_ == Access::Execute && contains("/etc", system->path)) {
      return refuse(rule_text("system", system->path), "what lies in /etc is only read", {});
    }
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
  // Of two rules for one path the stricter holds, so an option beside this one would be refused.
  const bool same_path = grant_->grant->path == path_;
  return refuse(rule_text("read", text), "the closest grant that covers it is read-only",
                "--write " + quote(path_) +
                    (same_path ? ", under a policy without " + rule_text("read", text) : ""));
}

Verdict Decision::by_absence() const {
  const std::string flag = writes() ? "--write " : "--read ";
  return refuse("no rule", "nothing grants it, so it does not exist inside", flag + quote(path_));
}

}  // namespace

bool is_of_sandbox(const Clamped& clamped, const HostFacts& facts, std::string_view lexical) {
  const Effective& effective = clamped.effective();
  const PathModes modes(effective.read, effective.write);
  const PathEntry* grant = modes.deepest(lexical);
  if (grant != nullptr && shows(grant->grant->path, lexical, facts)) return false;
  return contains("/proc", lexical) || contains("/dev", lexical) || lists(kWrittenFiles, lexical) ||
         lists(kNetworkFiles, lexical);
}

Verdict decide(const Clamped& clamped, const HostFacts& facts, const Caller& caller, Access access,
               std::string_view path) {
  return Decision(clamped, facts, caller, access, path).verdict();
}

}  // namespace cordon
