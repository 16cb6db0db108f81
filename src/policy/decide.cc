#include "policy/decide.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

#include "base/path.h"
#include "base/text.h"
#include "policy/cure.h"
#include "policy/deny_index.h"

namespace cordon {
namespace {

Verdict allow(std::string rule, std::string reason) {
  return {true, std::move(rule), std::move(reason), {}, {}};
}

Verdict refuse(HintRule kind, std::string rule, std::string reason, std::string change) {
  return {false, std::move(rule), std::move(reason), std::move(change), kind};
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
    if (auto found = by_secret()) return *std::move(found);
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
  [[nodiscard]] Maybe by_secret() const;
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
    return refuse(HintRule::Hidden, rule_text("mask", masked.path), masked.reason,
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
        return refuse(HintRule::Denied, rule_text("deny", deny.written),
                      "a deny wins over every grant", "remove the deny where it was written");
      }
      if (place == "/") break;
    }
  }
  return std::nullopt;
}

Decision::Maybe Decision::held_at(const Held& held) const {
  if (!writes() || !contains(held.path, path_)) return std::nullopt;
  return refuse(
      HintRule::Protected, rule_text("hold", held.path),
      "protected " + std::string(name_of(held.kind)) +
          " files inside a writable grant stay as they are: a run changes a private copy, "
          "or cannot write them" +
          (held.link.empty() ? std::string() : "; " + quote(held.link) + std::string(kLeadsHere)),
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

// Names that are not there yet: the kernel lets them be made, the scan after the run moves them
// away.
Decision::Maybe Decision::by_protected_name() const {
  if (!writes() || grant_ == nullptr || grant_->mode != PathMode::Write) return std::nullopt;
  const std::string& root = grant_->grant->path;
  bool configures_git = false;
  for (std::string_view place = path_; place != root && place != "/"; place = parent(place)) {
    const std::string_view above = parent(place);
    const ProtectRules& rules = effective_.protect;
    const ProtectedName* name = find_protected(basename(above), basename(place), rules);
    if (name == nullptr || !is_held_in(*name, above, caller_.homes)) continue;
    // A new repository needs its config; what matters there are single keys.
    if (name->name == ".git/config") {
      configures_git = true;
      continue;
    }
    return refuse(
        HintRule::Protected,
        rule_text("protected", name->kind == HoldKind::Operator
                                   ? added_name(basename(above), basename(place), rules)
                                   : name->name),
        std::string(name->reason) + "; what appears is moved out of the tree after the run",
        "make the change outside the sandbox");
  }
  if (!configures_git) return std::nullopt;
  return allow(rule_text("protected", ".git/config"),
               "of a new repository's configuration stays what makes git run nothing and leads "
               "nowhere else; the rest is held back at the end");
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
      return refuse(HintRule::System, rule_text("system", system->path),
                    "what lies in /etc is only read", {});
    }
    if (!writes()) {
      return allow(rule_text("system", system->path), "loading programs needs it in every sandbox");
    }
    return refuse(HintRule::System, rule_text("system", system->path), "system files are read-only",
                  {});
  }
  const std::string text = spelling(*grant_->grant);
  if (grant_->mode == PathMode::Write) {
    return allow(rule_text("write", text), "the closest grant that covers it is writable");
  }
  if (!writes()) return allow(rule_text("read", text), "the closest grant that covers it");
  // Of two rules for one path the stricter holds, so an option beside this one would be refused.
  const bool same_path = grant_->grant->path == path_;
  return refuse(HintRule::ReadOnly, rule_text("read", text),
                "the closest grant that covers it is read-only",
                "--write " + quote(path_) +
                    (same_path ? ", under a policy without " + rule_text("read", text) : ""));
}

// In the words of the mask that a grant would get: by the name alone, whether it is there or not.
Decision::Maybe Decision::by_secret() const {
  const std::string_view secret = machine_secret(path_);
  if (secret.empty()) return std::nullopt;
  return refuse(HintRule::Hidden, rule_text("mask", secret), std::string(kMachineSecret), {});
}

Verdict Decision::by_absence() const {
  const std::string flag = writes() ? "--write " : "--read ";
  const bool system = writes() && is_system_place(path_);
  return refuse(system ? HintRule::System : HintRule::Absent, "no rule",
                "nothing grants it, so it does not exist inside", flag + quote(path_));
}

}  // namespace

std::string_view machine_secret(std::string_view path) {
  const auto* found = std::ranges::find_if(
      kMachineSecrets, [&](std::string_view secret) { return contains(secret, path); });
  return found == kMachineSecrets.end() ? std::string_view{} : *found;
}

std::string reason_of(const Held& held) {
  std::string reason(name_of(held.kind));
  // What is installed into a directory on PATH is known by this word alone.
  const bool commands = held.kind == HoldKind::Path && held.file == FileKind::Directory;
  if (held.link.empty() || commands) return reason;
  return reason.append(": ").append(quote(held.link)).append(kLeadsHere);
}

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

namespace {

using Maybe = std::optional<Verdict>;

// What is inside at a place of the sandbox's own, and how it may be used.
class OwnPlace {
 public:
  OwnPlace(const Effective& effective, const HostFacts& facts, const Caller& caller, Access access,
           std::string_view path)
      : effective_(effective), facts_(facts), caller_(caller), access_(access), path_(path) {}

  [[nodiscard]] Maybe verdict() const {
    if (auto found = by_home()) return found;
    if (auto found = by_scratch()) return found;
    if (contains("/proc", path_)) return by_proc();
    if (auto found = by_device()) return found;
    if (auto found = by_written_file()) return found;
    return by_way_to_something();
  }

 private:
  [[nodiscard]] Verdict yes(std::string rule, std::string reason) const {
    return {true, std::move(rule), std::move(reason), {}, {}};
  }
  [[nodiscard]] Verdict no(std::string rule, std::string reason, std::string change = {}) const {
    return {false, std::move(rule), std::move(reason), std::move(change), HintRule::Absent};
  }
  [[nodiscard]] Verdict read_only(std::string rule) const {
    return {false, std::move(rule), "system files are read-only", {}, HintRule::System};
  }
  [[nodiscard]] Maybe private_place(std::string_view root, std::string rule) const;
  [[nodiscard]] bool leads_to_a_grant() const;
  [[nodiscard]] Maybe by_home() const;
  [[nodiscard]] Maybe by_scratch() const;
  [[nodiscard]] Verdict by_proc() const;
  [[nodiscard]] Maybe by_device() const;
  [[nodiscard]] Maybe by_written_file() const;
  [[nodiscard]] Maybe by_way_to_something() const;
  [[nodiscard]] std::vector<std::string_view> ends_of_ways() const;

  const Effective& effective_;
  const HostFacts& facts_;
  const Caller& caller_;
  Access access_;
  std::string_view path_;
};

// Writes succeed and reach nothing outside.
Maybe OwnPlace::private_place(std::string_view root, std::string rule) const {
  if (!contains(root, path_)) return std::nullopt;
  if (access_ == Access::Write) {
    return yes(std::move(rule), root == caller_.home && effective_.home == HomeMode::Persistent
                                    ? "private to the sandbox; nothing outside changes"
                                    : "private to the sandbox: written, and gone after the run");
  }
  if (path_ == root) return yes(std::move(rule), "private to the sandbox");
  return no(std::move(rule), "the place is private inside; the file outside is not visible",
            "--read " + quote(path_));
}

// As plan/native_plan.cc has it.
bool OwnPlace::leads_to_a_grant() const {
  if (access_ != Access::Write || effective_.home != HomeMode::Private) return false;
  return std::ranges::any_of(effective_.write, [&](const Grant& grant) {
    if (grant.path == caller_.home || !contains(caller_.home, grant.path)) return false;
    const auto below = components(std::string_view(grant.path).substr(caller_.home.size()));
    return below.size() > 1 && !below.front().starts_with('.') &&
           contains(join(caller_.home, below.front()), path_);
  });
}

Maybe OwnPlace::by_home() const {
  const bool exists = effective_.home == HomeMode::Persistent ||
                      (effective_.home == HomeMode::Private && effective_.scratch);
  if (!exists || caller_.home.empty()) return std::nullopt;
  if (leads_to_a_grant()) {
    return no(
        "home = \"private\"",
        "it only leads to a grant and is read-only, so that nothing is written where it would "
        "be gone",
        "--write " + quote(path_));
  }
  return private_place(caller_.home, "home = \"" + std::string(name_of(effective_.home)) + "\"");
}

Maybe OwnPlace::by_scratch() const {
  if (!effective_.scratch) return std::nullopt;
  const std::string rule = "scratch = \"" + format_size(*effective_.scratch) + "\"";
  for (const ScratchPlace& place : kScratchPlaces) {
    if (auto found = private_place(place.path, rule)) return found;
  }
  return std::nullopt;
}

Verdict OwnPlace::by_proc() const {
  const auto covers = [&](std::string_view masked) { return contains(masked, path_); };
  const bool masked =
      std::any_of(kMaskedProcFiles.begin(), kMaskedProcFiles.end(), covers) ||
      std::any_of(kMaskedProcDirectories.begin(), kMaskedProcDirectories.end(), covers);
  if (masked) return no("/proc", "it shows the machine rather than the sandbox, and is masked");
  if (access_ == Access::Write) return no("/proc", "it is read-only inside");
  if (access_ == Access::Execute) return no("/proc", "nothing in it can be executed");
  const std::vector<std::string_view> parts = components(path_);
  if (parts.size() > 1 && std::isdigit(static_cast<unsigned char>(parts[1].front())) != 0) {
    return no("/proc", "a fresh one that shows only the sandbox's own processes");
  }
  return yes("/proc", "a fresh one that shows the sandbox's own processes");
}

Maybe OwnPlace::by_device() const {
  const bool link = std::any_of(kDeviceLinks.begin(), kDeviceLinks.end(),
                                [&](const DeviceLink& at) { return at.path == path_; });
  if (!link && !lists(kDevices, path_) && !contains(kTerminals, path_)) return std::nullopt;
  if (access_ == Access::Execute) return no("/dev", "nothing in it can be executed");
  return yes("/dev", link || path_ == kTerminals ? "the sandbox's own streams and terminals"
                                                 : "one of the few devices every sandbox has");
}

Maybe OwnPlace::by_written_file() const {
  const bool network = lists(kNetworkFiles, path_);
  if (!network && !lists(kWrittenFiles, path_)) return std::nullopt;
  const std::string rule = "system \"" + std::string(path_) + "\"";
  if (access_ == Access::Write) return read_only(rule);
  if (access_ == Access::Execute) return no(rule, "what lies in /etc is only read");
  return yes(rule, network && effective_.net.mode == NetMode::Open
                       ? "the host's own, since the network is the host's"
                       : "written for the sandbox; the host's own is not visible");
}

std::vector<std::string_view> OwnPlace::ends_of_ways() const {
  std::vector<std::string_view> ends = {kTerminals, kEmptyDirectory, kWrittenFiles.front()};
  for (const Grant& grant : effective_.read) ends.push_back(grant.path);
  for (const Grant& grant : effective_.write) ends.push_back(grant.path);
  for (const SystemEntry& entry : facts_.system) ends.push_back(entry.path);
  if (effective_.home != HomeMode::None && !caller_.home.empty()) ends.push_back(caller_.home);
  if (effective_.scratch) {
    for (const ScratchPlace& place : kScratchPlaces) ends.push_back(place.path);
  }
  return ends;
}

Maybe OwnPlace::by_way_to_something() const {
  const std::vector<std::string_view> ends = ends_of_ways();
  const bool leads = std::any_of(ends.begin(), ends.end(),
                                 [&](std::string_view end) { return contains(path_, end); });
  if (!leads || access_ == Access::Execute) return std::nullopt;
  const std::string rule = "directory \"" + std::string(path_) + "\"";
  if (access_ == Access::Write) {
    Verdict verdict = no(rule, "it is read-only inside", "--write " + quote(path_));
    if (is_system_place(path_)) verdict.kind = HintRule::System;
    return verdict;
  }
  return yes(rule, "inside it holds only what leads to something else that is there");
}

}  // namespace

Maybe decide_own(const Effective& effective, const HostFacts& facts, const Caller& caller,
                 Access access, std::string_view path) {
  return OwnPlace(effective, facts, caller, access, path).verdict();
}

bool is_system_place(std::string_view path) {
  constexpr auto kSystem = std::to_array<std::string_view>(
      {"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/run", "/boot", "/sys"});
  return std::ranges::any_of(kSystem,
                             [&](std::string_view place) { return contains(place, path); });
}

bool is_own(std::string_view path, const HostFacts& facts) {
  const std::string_view top = path.substr(0, path.find('/', 1));
  return lists(kOwnDirectories, top) ||
         std::any_of(facts.system.begin(), facts.system.end(),
                     [&](const SystemEntry& entry) { return entry.path == top; });
}

bool shows(std::string_view granted, std::string_view path, const HostFacts& facts) {
  return contains(granted, path) && (granted != "/" || !is_own(path, facts));
}

}  // namespace cordon
