#include "run/advice.h"

#include <unistd.h>

#include <algorithm>

#include "base/path.h"
#include "base/text.h"
#include "host/inspect.h"
#include "host/resolve.h"
#include "host/writable.h"
#include "policy/cure.h"
#include "policy/decide.h"
#include "policy/deny_index.h"
#include "policy/protected_names.h"
#include "run/change.h"

namespace cordon {
namespace {

constexpr const char* kOwnThere = "every sandbox has its own there, and no option replaces it";

class PathAdvice {
 public:
  PathAdvice(const RunInput& input, const Caller& caller, const AskedPath& asked)
      : input_(input), caller_(caller), asked_(asked), granted_(asked.path) {
    const auto staged = [](const Ceiling& ceiling) { return ceiling.mode == WriteMode::Staged; };
    if (!writes() || asked.kind == FileKind::Directory) return;
    if (input.policy.fs.mode != WriteMode::Staged && std::ranges::none_of(input.ceilings, staged)) {
      return;
    }
    // Only directories can be staged.
    staged_ = true;
    const auto is_directory = [&] {
      const auto seen = inspect_path(granted_);
      return seen && seen->kind == FileKind::Directory;
    };
    std::string directory(parent(granted_));
    std::swap(directory, granted_);
    // One that is wider than a project is no way to a single file.
    const auto is_scratch = [&](const ScratchPlace& place) { return place.path == granted_; };
    if (!is_directory() || is_no_project(granted_, caller) ||
        std::ranges::any_of(kScratchPlaces, is_scratch)) {
      granted_ = std::move(directory);
    }
  }

  Result<void> complete(AccessAnswer& answer);

 private:
  [[nodiscard]] bool writes() const { return asked_.access == Access::Write; }
  [[nodiscard]] std::string option() const {
    return (writes() ? "--write " : "--read ") + quote(granted_);
  }
  [[nodiscard]] PathMode needed() const { return writes() ? PathMode::Write : PathMode::Read; }

  // What the change leads to; nothing if a run would refuse it.
  [[nodiscard]] std::optional<AccessAnswer> attempt(const RunInput& changed) const;
  // Whether the policy stands in the way no longer.
  static bool helps(const AccessAnswer& answer) {
    return answer.verdict.allowed || answer.by == Settled::Held ||
           ((answer.by == Settled::Rights || answer.by == Settled::Absent) &&
            !answer.verdict.change.empty());
  }
  [[nodiscard]] bool is_of_the_sandbox() const;
  [[nodiscard]] bool is_of_the_system() const;
  [[nodiscard]] HeldPlaces held() const;
  // By its name: no grant opens it for writing, and what appears there is moved away.
  [[nodiscard]] bool is_protected() const;
  // What a run that writes the path has held back: a protected directory that it made is one.
  [[nodiscard]] std::string held_back() const;
  [[nodiscard]] Changed with_option(Changed changed) const;
  [[nodiscard]] Result<Changed> with_ceilings(Changed changed);
  [[nodiscard]] Result<Changed> with_rule_moved(Changed changed) const;
  [[nodiscard]] Changed without_denies(Changed changed) const;
  bool try_one(const Changed& changed, AccessAnswer& answer);
  void tell_why_nothing_helps(AccessAnswer& answer) const;
  Result<bool> try_all(const Changed& begin, AccessAnswer& answer);

  const RunInput& input_;
  const Caller& caller_;
  const AskedPath& asked_;
  bool staged_ = false;
  std::string granted_;              // what a rule has to name, so that it is granted
  std::vector<std::string> takers_;  // ceilings that do not cover it, as rules
  std::string taken_by_;             // the same, as words
  mutable std::string refusal_;      // of the first change that a run would refuse
};

std::optional<AccessAnswer> PathAdvice::attempt(const RunInput& changed) const {
  const auto run = judge_question(changed, caller_, asked_.ways);
  if (!run) {
    if (refusal_.empty()) refusal_ = message(run.error());
    return std::nullopt;
  }
  auto answer = access_to(*run, asked_.access, asked_.path);
  return answer ? std::optional(*std::move(answer)) : std::nullopt;
}

// What every sandbox makes itself: no option gives it.
bool PathAdvice::is_of_the_sandbox() const {
  const auto covers = [&](std::string_view place) { return contains(place, asked_.path); };
  if (covers("/proc") || covers("/dev")) return true;
  return asked_.path == "/" || (writes() && covers("/sys"));
}

// A write into the system. A directory of it may be granted to whoever may write it outside; of
// what is not there, and what the caller could not make, no option is to be expected.
bool PathAdvice::is_of_the_system() const {
  if (!writes() || !is_system_place(asked_.path)) return false;
  if (inspect_path(asked_.path)) return true;
  std::string place(parent(asked_.path));
  while (place != "/" && !inspect_path(place)) place = parent(place);
  return ::eaccess(place.c_str(), W_OK | X_OK) != 0;
}

HeldPlaces PathAdvice::held() const {
  HeldPlaces held = held_places(caller_);
  held.protect = input_.policy.protect;
  for (const Ceiling& ceiling : input_.ceilings) {
    const ProtectRules& rules = ceiling.policy.protect;
    held.protect.add.insert(held.protect.add.end(), rules.add.begin(), rules.add.end());
  }
  return held;
}

bool PathAdvice::is_protected() const {
  const HeldPlaces places = held();
  return writes() &&
         (held_place(asked_.path, places) != nullptr ||
          is_in_agent_directory(asked_.path, places) || is_in_git_part(asked_.path, places));
}

std::string PathAdvice::held_back() const {
  const HeldPlaces places = held();
  std::string found = asked_.path;
  for (std::string_view place = asked_.path; place != "/"; place = parent(place)) {
    if (inspect_path(std::string(place))) break;
    if (held_name(place, places) != nullptr) found = place;
  }
  return found;
}

Changed PathAdvice::with_option(Changed changed) const {
  FsRules& fs = changed.input.policy.fs;
  (writes() ? fs.write : fs.read).push_back({granted_, "/", Origin::Option});
  changed.steps.push_back(option());
  return changed;
}

// Every ceiling that does not cover the path is changed as its cure says.
Result<Changed> PathAdvice::with_ceilings(Changed changed) {
  takers_.clear();
  taken_by_.clear();
  CORDON_TRY(ceilings, resolve_ceilings(changed.input.ceilings, caller_, changed.input.approved));
  for (std::size_t i = 0; i < ceilings.size(); ++i) {
    const ResolvedCeiling& ceiling = ceilings[i];
    if (PathModes(ceiling.read, ceiling.write).at(granted_) >= needed()) continue;
    FsRules& fs = changed.input.ceilings[i].policy.fs;
    if (writes()) {
      for (const Grant& grant : ceiling.read) {
        if (is_baseline(grant) || !contains(granted_, grant.path)) continue;
        std::erase_if(fs.read, [&](const PathRule& rule) { return rule.text == grant.written; });
      }
    }
    (writes() ? fs.write : fs.read).push_back({granted_, "/"});
    changed.steps.push_back(cure_for_path(ceiling, granted_, needed()));
    takers_.push_back(ceiling_rule(ceiling.ceiling, "fs",
                                   writes() ? std::initializer_list<std::string_view>{"write"}
                                            : std::initializer_list<std::string_view>{"read"}));
    taken_by_ += (taken_by_.empty() ? "" : " and ") + title_of(ceiling.ceiling);
  }
  return changed;
}

// A rule that grants the very path for reading wins over one that grants it for writing, so that
// no option helps beside it: the document has to say something else.
Result<Changed> PathAdvice::with_rule_moved(Changed changed) const {
  Policy& policy = changed.input.policy;
  CORDON_TRY(resolved, resolve(policy, caller_));
  ResolvedCeiling document;
  document.ceiling.id = policy.file;
  document.ceiling.policy = policy;
  std::erase_if(document.ceiling.policy.fs.read,
                [](const PathRule& rule) { return rule.origin == Origin::Option; });
  std::erase_if(document.ceiling.policy.fs.write,
                [](const PathRule& rule) { return rule.origin == Origin::Option; });
  document.read = resolved.read;
  document.write = resolved.write;
  bool in_document = false;
  for (const Grant& grant : resolved.read) {
    if (is_baseline(grant) || grant.path != granted_) continue;
    std::erase_if(policy.fs.read, [&](const PathRule& rule) { return rule.text == grant.written; });
    if (grant.origin == Origin::Option) {
      changed.steps.push_back("leave out --read " + quote(grant.written));
    } else {
      in_document = true;
    }
  }
  if (!in_document) {
    changed = with_option(std::move(changed));
  } else if (!policy.file.empty()) {
    policy.fs.write.push_back({granted_, "/"});
    changed.steps.push_back(cure_for_path(document, granted_, PathMode::Write));
  } else if (policy.name == "readonly" && granted_ == caller_.cwd) {
    policy.fs.write.push_back({granted_, "/"});
    changed.steps.push_back("--policy workspace");
  } else {
    changed.steps.clear();
  }
  return changed;
}

// All that name the path or a directory above it.
Changed PathAdvice::without_denies(Changed changed) const {
  const auto denies = [&](const DenyGlob& deny) {
    for (std::string_view place = asked_.path;; place = parent(place)) {
      if (deny_matches(deny, place)) return true;
      if (place == "/") return false;
    }
  };
  const auto take = [&](Policy& policy, const std::vector<DenyGlob>& rules) {
    for (const DenyGlob& deny : rules) {
      const auto same = [&](const PathRule& rule) { return rule.text == deny.written; };
      if (!denies(deny)) continue;
      for (const PathRule& rule : policy.fs.deny) {
        if (!same(rule)) continue;
        changed.steps.push_back(rule.origin == Origin::Option
                                    ? "leave out --deny " + quote(deny.written)
                                    : take_out(policy, "fs", deny.written));
      }
      std::erase_if(policy.fs.deny, same);
    }
  };
  if (const auto resolved = resolve(changed.input.policy, caller_)) {
    take(changed.input.policy, resolved->deny);
  }
  const auto ceilings = resolve_ceilings(changed.input.ceilings, caller_, changed.input.approved);
  for (std::size_t i = 0; ceilings && i < ceilings->size(); ++i) {
    take(changed.input.ceilings[i].policy, (*ceilings)[i].deny);
  }
  return changed;
}

bool PathAdvice::try_one(const Changed& changed, AccessAnswer& answer) {
  if (changed.steps.empty()) return false;
  const auto found = attempt(changed.input);
  if (!found) return false;
  if (helps(*found)) {
    answer.verdict.change = steps_text(changed.steps);
    return true;
  }
  // It is granted then, and still no: that is the better reason.
  if (found->by == Settled::Rights || found->by == Settled::Kernel) {
    answer.verdict = found->verdict;
    answer.by = found->by;
    return true;
  }
  return false;
}

Result<bool> PathAdvice::try_all(const Changed& begin, AccessAnswer& answer) {
  if (try_one(begin, answer)) return true;
  const bool there = asked_.kind != FileKind::Absent || granted_ != asked_.path;
  if (there && try_one(with_option(begin), answer)) return true;
  CORDON_TRY(cured, with_ceilings(begin));
  const bool takes = !takers_.empty();
  const auto name_ceiling = [&] {
    if (answer.by != Settled::Policy) return;
    answer.verdict.rule = takers_.front();
    answer.verdict.reason = taken_by_ + (takers_.size() == 1 ? " does not " : " do not ") +
                            (writes() ? "let it be written" : "cover it") + "; " +
                            answer.verdict.reason;
  };
  if (takes && try_one(cured, answer)) return name_ceiling(), true;
  if (takes && there && try_one(with_option(cured), answer)) return name_ceiling(), true;
  if (writes() && there) {
    CORDON_TRY(moved, with_rule_moved(begin));
    if (try_one(moved, answer)) return true;
    CORDON_TRY(both, with_rule_moved(cured));
    if (takes && try_one(both, answer)) return name_ceiling(), true;
  }
  if (there || answer.by != Settled::Policy) return false;
  // What is not there cannot be granted. That this is all that is refused is known; what it will be
  // is asked again when it is there.
  if (is_protected() || staged_ || !machine_secret(asked_.path).empty()) return false;
  const auto run = judge_question(with_option(cured).input, caller_, asked_.ways);
  const bool only_absent =
      !run && run.error().notes.empty() &&
      run.error().what.find("names nothing that is there") != std::string::npos;
  if (!only_absent) return false;
  std::vector<std::string> steps = cured.steps;
  steps.push_back("make it first, then " + option());
  answer.verdict.change = steps_text(steps);
  if (takes) name_ceiling();
  return true;
}

Result<void> PathAdvice::complete(AccessAnswer& answer) {
  if (answer.verdict.allowed) return {};
  // Of a git directory in a stage nothing is taken file by file, as the reason says.
  if (answer.by == Settled::Held && staged_ &&
      std::ranges::count(components(asked_.path), std::string_view(".git")) != 0) {
    return {};
  }
  if (answer.by == Settled::Held) {
    answer.verdict.change =
        "cordon changes apply last -- " + quote(held_back()) + ", after the run";
    return {};
  }
  if (answer.by != Settled::Policy && answer.by != Settled::Mask) return {};
  answer.verdict.change.clear();
  const bool closed = is_of_the_system() && asked_.kind == FileKind::Absent;
  if (is_of_the_sandbox() || closed) {
    // That nothing grants it is no reason why nothing could.
    answer.verdict.reason =
        answer.verdict.rule == "no rule" ? kOwnThere : answer.verdict.reason + "; " + kOwnThere;
    return {};
  }
  CORDON_TRY(found, try_all({input_, {}}, answer));
  if (found) return {};
  const Changed opened = without_denies({input_, {}});
  if (!opened.steps.empty()) {
    CORDON_TRY(without, try_all(opened, answer));
    if (without) return {};
  }
  tell_why_nothing_helps(answer);
  return {};
}

// What an option would show is masked, or the option is refused: that is why.
void PathAdvice::tell_why_nothing_helps(AccessAnswer& answer) const {
  JudgedPlaces places;
  places.asked = asked_.ways;
  const auto judgement =
      judge_policy(with_option({input_, {}}).input.policy, input_.ceilings, caller_, places);
  if (judgement) {
    for (const Masked& masked : judgement->survey.facts.masked) {
      if (!contains(masked.path, asked_.path)) continue;
      answer.verdict.rule = "mask \"" + masked.path + "\"";
      answer.verdict.reason = masked.reason;
      return;
    }
  }
  if (!refusal_.empty()) {
    answer.verdict.reason += "; " + refusal_;
  } else if (is_of_the_system()) {
    answer.verdict.reason += std::string("; ") + kOwnThere;
  }
}

}  // namespace

Result<void> advise(const RunInput& input, const Caller& caller, const AskedPath& asked,
                    AccessAnswer& answer) {
  return PathAdvice(input, caller, asked).complete(answer);
}

}  // namespace cordon
