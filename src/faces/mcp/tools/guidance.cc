#include "faces/mcp/tools/guidance.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "faces/mcp/tools/answer.h"
#include "host/resolve.h"

namespace cordon::mcp {
namespace {

bool names(const std::optional<std::vector<std::string>>& wish, const std::string& path) {
  return wish && std::ranges::find(*wish, path) != wish->end();
}

// Whether something is missing is told only where it could have been seen.
std::string_view reason_for(const Reduction& reduction, const CallCeilings& bounds) {
  if (reduction.because == Reduction::Because::Narrowed) return "only a part of it is permitted";
  if (reduction.because == Reduction::Because::Nonexistent) {
    const auto place = canonicalize(reduction.asked, bounds.caller.cwd, bounds.caller);
    const RequestedAccess wish =
        reduction.what == "write" ? RequestedAccess::Write : RequestedAccess::Read;
    if (place && permitted(bounds, place->path, wish)) return "it does not exist";
  }
  return "outside the operator's allowed paths";
}

// What a call named and did not get. No line of a ceiling gives credentials or parts of the system.
Refusal refusal_of_named(const Node& entry, const CallCeilings& bounds) {
  const std::string* access = text_member(entry, "access");
  if (access != nullptr && *access == "env") return Refusal::Variable;
  const std::string* path = text_member(entry, "path");
  if (access == nullptr || path == nullptr) return Refusal::Outside;
  const auto place = canonicalize(*path, bounds.caller.cwd, bounds.caller);
  if (!place) return Refusal::Outside;
  const RequestedAccess wish = *access == "write" ? RequestedAccess::Write : RequestedAccess::Read;
  const Refusal refusal = refusal_of(bounds, place->path, wish);
  const bool by_nobody = refusal == Refusal::System || refusal == Refusal::Hidden;
  return by_nobody && !permitted(bounds, place->path, wish) ? refusal : Refusal::Outside;
}

// Guesses by the policy alone: whether anything exists there outside is not told.
struct Guesses {
  NodeList list;
  std::vector<Refusal> refusals;
};

Guesses guesses_of(const std::vector<Hint>& hints, const CallCeilings& bounds,
                   const SecretMask& mask) {
  Guesses guesses;
  for (const Hint& hint : hints) {
    const Refusal refusal = refusal_of(bounds, hint);
    guesses.list.push_back(
        not_granted_entry(hint.access, mask.mask(sanitize(hint.path)).text, reason_of(refusal)));
    guesses.refusals.push_back(refusal);
  }
  return guesses;
}

// Protected files that a run wrote and that the host did not get. The run has named them.
NodeList held_names(const Report& report, const SecretMask& mask) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& path) {
    std::string name = mask.mask(shortened(path)).text;
    if (names.size() < kMostListed && std::ranges::find(names, name) == names.end()) {
      names.push_back(std::move(name));
    }
  };
  for (const Change& change : report.changes) {
    if (change.state == Change::State::Held) add(change.path);
  }
  for (const Quarantined& handoff : report.outcome->handoff) {
    if (!handoff.moved_to.empty()) add(handoff.path);
  }
  return NodeList(names.begin(), names.end());
}

// A later call would look for it in vain.
NodeList gone_names(const Report& report, const SecretMask& mask) {
  constexpr std::size_t kMostGone = 4;
  NodeList names;
  std::size_t more = 0;
  for (const Change& change : report.changes) {
    if (change.state != Change::State::Lost || change.reason.starts_with("reflog")) continue;
    if (names.size() < kMostGone) {
      names.emplace_back(mask.mask(shortened(change.path)).text);
    } else {
      ++more;
    }
  }
  if (more > 0) names.emplace_back("and " + std::to_string(more) + " more");
  return names;
}

// "memory" of 'limits.memory = "1G"'.
std::string_view key_of(const Denial& denial) {
  const std::string_view rule = std::string_view(denial.rule).substr(denial.rule.find('.') + 1);
  return rule.substr(0, rule.find(' '));
}

// What a run met of its limits, and who can raise them.
std::string limits_help(const Report& report) {
  std::string names;
  for (const Denial& denial : report.outcome->denials) {
    if (is_limit(denial)) names.append(names.empty() ? "" : ", ").append(key_of(denial));
  }
  if (names.empty()) return {};
  return "It met a limit (" + names +
         "): do it with less. Only the operator can raise it, in [limits] of the ceiling (scratch: "
         "in [fs]).";
}

// What was refused while it ran, of a command that failed.
std::vector<Refusal> refusals_while_running(const Outcome& outcome) {
  std::vector<Refusal> refusals;
  if (std::holds_alternative<Exited>(outcome.end) && exit_status(outcome.end) == 0) return refusals;
  for (const Denial& denial : outcome.denials) {
    if (const auto refusal = refusal_of(denial)) refusals.push_back(*refusal);
  }
  return refusals;
}

// Each reason once.
std::string reasons_of(const std::vector<Refusal>& refusals) {
  std::string text;
  for (const Refusal refusal : refusals) {
    const std::string_view reason = reason_of(refusal);
    if (text.find(reason) == std::string::npos)
      text.append(text.empty() ? "" : "; ").append(reason);
  }
  return text;
}

}  // namespace

Node not_granted_entry(std::string_view access, std::string_view path, std::string_view reason) {
  Node entry{NodeMap{}};
  entry.set("access", access).set("path", shortened(path)).set("reason", reason);
  return entry;
}

std::vector<Refusal> refusals_of(const NodeList& refused, const CallCeilings& bounds) {
  std::vector<Refusal> refusals;
  for (const Node& entry : refused) refusals.push_back(refusal_of_named(entry, bounds));
  return refusals;
}

NodeList not_granted(const Report& report, const RequestedRun& wish, const CallCeilings& bounds) {
  NodeList list;
  for (const Reduction& reduction : report.reductions) {
    const bool asked = (reduction.what == "read" && names(wish.read, reduction.asked)) ||
                       (reduction.what == "write" && names(wish.write, reduction.asked));
    if (!asked || list.size() >= kMostListed) continue;
    list.push_back(
        not_granted_entry(reduction.what, reduction.asked, reason_for(reduction, bounds)));
  }
  return list;
}

Guidance guidance_of(const Report& report, const NodeList& refused, const CallCeilings& bounds,
                     const SecretMask& mask) {
  if (!report.outcome) return {};
  Guesses guesses = guesses_of(report.outcome->hints, bounds, mask);
  Guidance guidance{
      {}, std::move(guesses.list), held_names(report, mask), gone_names(report, mask)};
  const std::vector<Refusal> denied = refusals_while_running(*report.outcome);
  if (!refused.empty()) {
    guidance.help = help_for(bounds, refusals_of(refused, bounds));
  } else if (!guidance.hints.empty()) {
    guesses.refusals.insert(guesses.refusals.end(), denied.begin(), denied.end());
    guidance.help = std::string("If it failed for want of what hints ") +
                    (denied.empty() ? "names: " : "and denials name: ") +
                    help_for(bounds, guesses.refusals);
  } else if (!denied.empty()) {
    guidance.help =
        "If it failed for want of what denials names, that is policy and not absence (" +
        reasons_of(denied) + "): " + help_for(bounds, denied);
  } else if (!guidance.held_back.empty()) {
    guidance.help = "The project keeps its own version of what held_back names. " +
                    help_for(bounds, std::array{Refusal::Protected});
  } else {
    guidance.help = limits_help(report);
  }
  return guidance;
}

void add_guidance(Node& node, const Guidance& guidance) {
  if (!guidance.help.empty()) node.set("help", guidance.help);
  if (!guidance.hints.empty()) node.set("hints", guidance.hints);
  if (!guidance.held_back.empty()) node.set("held_back", guidance.held_back);
  if (!guidance.gone.empty()) node.set("gone_with_this_run", guidance.gone);
}

}  // namespace cordon::mcp
