#include "faces/cli/closing_lines.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "base/text.h"
#include "changes/stage_judge.h"
#include "faces/cli/console.h"
#include "policy/decide.h"
#include "run/lost_output.h"

namespace cordon {
namespace {

// The rule by which nothing outside is reached.
constexpr std::string_view kNoNetwork = "net.mode = \"none\"";

// Nothing for a command that ended by itself.
struct KillText {
  std::optional<std::string> operator()(const Exited&) const { return std::nullopt; }
  std::optional<std::string> operator()(const Signaled&) const { return std::nullopt; }
  std::optional<std::string> operator()(const TimedOut& end) const {
    return "killed: wall-clock limit " + format_duration(end.limit_ms);
  }
  std::optional<std::string> operator()(const OverLimit& end) const {
    if (end.reason == "oom") return "killed: memory limit";
    if (end.reason == "output") return "killed: output limit";
    if (end.reason == "pids") return "killed: process limit";
    return "killed: " + end.reason;
  }
  std::optional<std::string> operator()(const Cancelled& end) const {
    return end.signal == 0 ? "killed: cancelled" : "ended by " + signal_name(end.signal);
  }
};

}  // namespace

std::string denial_words(const Denial& denial) {
  std::string times;
  if (denial.count > 1) times = ", " + std::to_string(denial.count) + " times";
  if (denial.what == "rename") {
    return "a directory of the project cannot be renamed in a stage (EXDEV): " + denial.detail +
           "; copy it and remove the old one, as mv does";
  }
  if (denial.what == "session") return "the session: " + denial.detail;
  if (denial.what == "file") {
    return "more paths were asked for in vain than are judged: " + std::to_string(denial.count) +
           " accesses";
  }
  if (denial.what == "udp") {
    return "denied: UDP to " + denial.detail + " (" + denial.rule + ", " + denial.layer + times +
           ")";
  }
  if (denial.rule == kNoNetwork) return "no network inside; asked for " + denial.path + times;
  if (!denial.path.empty() && denial.access != "connect") {
    return "denied: " + denial.what + " " + quote(denial.path) + " (" + denial.rule + ", " +
           denial.layer + times + ")";
  }
  const bool budget = denial.layer == "gate" && !denial.rule.starts_with("[[http]]");
  const bool limit = budget || (denial.layer != "broker" && denial.layer != "gate" &&
                                denial.what != "git" && denial.what != "syscall");
  std::string text = limit ? "limit reached: " : "denied: ";
  if (denial.layer == "host") text = "from outside: ";
  text.append(denial.what).append(": ").append(denial.detail).append(" (");
  // The words of a budget name it.
  if (denial.what == "request" && !budget) text.append(denial.rule).append(", ");
  return text.append(denial.layer).append(times).append(")");
}

std::string denial_text(const Denial& denial) {
  std::string text = denial_words(denial);
  if (denial.rule == kNoNetwork && !denial.change.empty()) {
    return text.append(" (").append(denial.change).append(")");
  }
  if (!denial.change.empty()) return text.append("; ").append(denial.change);
  const bool judged = !denial.certain && !denial.path.empty();
  return judged ? text.append("; ").append(kNothingGrants) : text;
}

std::string hint_text(const Hint& hint) {
  if (hint.access == "call") {
    return "refused in every sandbox: " + hint.path + " (" + hint.rule + "); " + hint.change;
  }
  const std::string asked = hint.access + " " + quote(hint.path);
  if (hint.change.empty()) return "outside what is granted: " + asked + " (" + hint.rule + ")";
  return "not granted: " + asked + "; " + hint.change;
}

namespace {

// What of a line is the same for all of its kind.
std::string handoff_kind(const Quarantined& handoff) {
  for (const char* kind : {"unchecked: ", "removed: "}) {
    if (handoff.kind.starts_with(kind)) return kind;
  }
  if (!handoff.original.empty()) return "as it was";
  if (handoff.restored) return "put back";
  return handoff.moved_to.empty() ? "appeared" : "moved";
}

std::string handoff_text(const Quarantined& handoff) {
  if (handoff.kind.starts_with("unchecked: ")) {
    const std::string place = handoff.path == "." ? "" : handoff.path + ": ";
    return "unchecked: " + place + handoff.kind.substr(std::string_view("unchecked: ").size());
  }
  if (handoff.kind.starts_with("removed: ")) {
    return "removed: " + handoff.path + ": " +
           handoff.kind.substr(std::string_view("removed: ").size());
  }
  std::string text = handoff.moved_to.empty() ? "appeared: " : "moved out of the tree: ";
  if (handoff.restored) text = "changed by the run and put back: ";
  if (!handoff.original.empty()) text = "changed during the run, to nothing that runs: ";
  text.append(handoff.path).append(" (").append(handoff.kind).append(")");
  if (!handoff.original.empty()) return text.append(", as it was: ").append(handoff.original);
  if (handoff.restored && !handoff.moved_to.empty())
    return text.append(", the changed one is ").append(handoff.moved_to);
  if (!handoff.moved_to.empty()) text.append(", now ").append(handoff.moved_to);
  return text;
}

// What was written to private places, one line for each of the few that there are: "gone with the
// run: 3 files in the private home (~/d, ~/x)".
void say_gone(const std::vector<Change>& changes) {
  constexpr std::size_t kMostNames = 3;
  for (std::size_t i = 0; i < changes.size();) {
    const Change& first = changes[i];
    // The log of a repository in a stage is in the list; the host's says what arrived.
    if (first.state != Change::State::Lost || first.reason.starts_with("reflog")) {
      ++i;
      continue;
    }
    // "private home: 3 files, 120 bytes in all"
    const std::size_t colon = first.reason.find(": ");
    const std::size_t comma = first.reason.find(',');
    std::string where = first.reason.substr(0, colon);
    std::string count;
    if (colon != std::string::npos && comma != std::string::npos)
      count = first.reason.substr(colon + 2, comma - colon - 2);
    std::string names;
    std::size_t told = 0;
    for (; i < changes.size() && changes[i].state == Change::State::Lost &&
           changes[i].top == first.top;
         ++i) {
      if (++told > kMostNames) continue;
      if (!names.empty()) names += ", ";
      names += where == "private home" ? "~" + changes[i].path.substr(first.top.size())
                                       : changes[i].path;
    }
    if (told > kMostNames) names += ", …";
    say_tinted(Tint::Warning,
               "gone with the run: " + count + " in the " + where + " (" + names + ")");
  }
}

}  // namespace

void say_reductions(const std::vector<Reduction>& reductions, Notices& notices) {
  // A list of a thousand hosts beside a ceiling; the report has them all.
  constexpr std::size_t kMostLines = 20;
  const bool folded = notices.layout() == Notices::Layout::Folded;
  const std::size_t told = folded ? reductions.size() : std::min(reductions.size(), kMostLines);
  for (std::size_t i = 0; i < told; ++i) {
    notices.add("reduced", reduction_line(reductions[i]), Notices::Seen::Why);
  }
  if (told == reductions.size()) return;
  say_warning("and " + std::to_string(reductions.size() - told) +
              " more were reduced; --report FILE has them all");
}

namespace {

// Moved files that were named already: how they come back.
std::string told_above(const std::vector<std::string>& paths, const Notices& notices) {
  constexpr std::size_t kMostWords = 4;
  const std::string& run_id = notices.run_id();
  // Folded, the lines above name the first alone.
  const bool named = paths.size() == 1 || notices.layout() == Notices::Layout::Each;
  std::string line = "held back: " + std::to_string(paths.size()) +
                     (paths.size() == 1 ? " file" : " files") + (named ? " named above; " : "; ");
  if (paths.size() > 1) line += "cordon changes list " + run_id + ", ";
  line += "cordon changes apply " + run_id;
  const std::size_t words = paths.size() > kMostWords ? 1 : paths.size();
  for (const std::string& path : std::span(paths).first(words)) line += " " + shell_word(path);
  return line;
}

std::string counted(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " change" : " changes");
}

// What became of the ordinary changes of a staged run; nothing for a live one.
void say_stage(const std::vector<Change>& changes, Notices& notices) {
  const std::string& run_id = notices.run_id();
  const bool folded = notices.layout() == Notices::Layout::Folded;
  constexpr std::size_t kMostConflicts = 10;
  std::size_t applied = 0;
  std::size_t waiting = 0;
  std::size_t conflicts = 0;
  for (const Change& change : changes) {
    // Commits that the host has others beside: the reason names the line that merges them.
    if (change.state == Change::State::Conflict && is_never_applied(change.reason)) continue;
    if (change.state == Change::State::Conflict && (++conflicts <= kMostConflicts || folded)) {
      notices.add("conflict",
                  "conflict: " + change.path +
                      " has changed on the host too; both versions are kept; cordon changes diff " +
                      run_id + " " + shell_word(change.path),
                  Notices::Seen::Changes);
    }
    if (!change.reason.empty()) continue;
    if (change.state == Change::State::Applied) ++applied;
    if (change.state == Change::State::Held) ++waiting;
  }
  if (conflicts > kMostConflicts && !folded) {
    say_tinted(Tint::Warning, "and " + std::to_string(conflicts - kMostConflicts) +
                                  " more conflicts; cordon changes list " + run_id);
  }
  if (applied > 0) {
    say_tinted(Tint::Quiet, "applied " + counted(applied) + "; cordon changes restore " + run_id +
                                (applied == 1 ? " undoes it" : " undoes them"));
  }
  if (waiting > 0) {
    say_tinted(Tint::Warning, counted(waiting) + " not applied yet; cordon changes list " + run_id +
                                  ", cordon changes apply " + run_id);
  }
}

}  // namespace

void say_changes(const std::vector<Change>& changes, const std::vector<Quarantined>& handoffs,
                 Notices& notices) {
  const std::string& run_id = notices.run_id();
  const bool folded = notices.layout() == Notices::Layout::Folded;
  constexpr std::size_t kMostTops = 10;
  std::vector<std::string> tops;
  std::vector<std::string> told;  // by the lines of what was moved
  say_stage(changes, notices);
  for (const Change& change : changes) {
    // Without a reason it is an ordinary change of a stage.
    const bool to_merge =
        change.state == Change::State::Conflict && is_never_applied(change.reason);
    if ((change.state != Change::State::Held && !to_merge) || change.reason.empty()) continue;
    if (change.reason.starts_with(kCommitted)) continue;
    const auto same = [&](const Quarantined& one) { return one.path == change.path; };
    if (std::any_of(handoffs.begin(), handoffs.end(), same)) {
      told.push_back(change.path);
      continue;
    }
    if (std::find(tops.begin(), tops.end(), change.top) == tops.end()) tops.push_back(change.top);
  }
  for (std::size_t i = 0; i < tops.size() && (i < kMostTops || folded); ++i) {
    std::size_t files = 0;
    std::string reason;
    for (const Change& change : changes) {
      const bool waits =
          change.state == Change::State::Held || change.state == Change::State::Conflict;
      if (!waits || change.top != tops[i]) continue;
      ++files;
      reason = change.reason;
    }
    // Of git's configuration the settings say more than the number of files, and of what a link
    // leads to the link: it has an ordinary name.
    std::string what = " (" + std::to_string(files) + (files == 1 ? " file)" : " files)");
    const std::size_t leads = reason.find(kLeadsHere);
    if (leads != std::string::npos) {
      const std::size_t begin = reason.find(": ") + 2;
      what.insert(what.size() - 1, "; " + reason.substr(begin, leads + kLeadsHere.size() - begin));
    } else if (reason.starts_with("git: ")) {
      what = ": " + reason.substr(5);
    }
    if (is_never_applied(reason)) {
      notices.add("not applied", "not applied: " + tops[i] + ": " + with_cure(reason),
                  Notices::Seen::Changes);
      continue;
    }
    notices.add("held back",
                "held back: " + tops[i] + what + "; cordon changes apply " + run_id + " " +
                    shell_word(tops[i]),
                Notices::Seen::Changes);
  }
  if (tops.size() > kMostTops && !folded) {
    say_tinted(Tint::Warning, "and " + std::to_string(tops.size() - kMostTops) +
                                  " more; cordon changes list " + run_id);
  }
  const auto removed = std::count_if(changes.begin(), changes.end(), [](const Change& change) {
    return change.state == Change::State::Applied && change.change == Change::Kind::Deleted &&
           change.reason == "removed by the run";
  });
  if (removed > 0) {
    say_tinted(Tint::Warning, "finished what the run began to remove: " + std::to_string(removed) +
                                  (removed == 1 ? " protected path" : " protected paths") +
                                  "; cordon changes restore " + run_id);
  }
  for (const Change& change : changes) {
    if (change.state != Change::State::Discarded) continue;
    notices.add("not removed", "not removed: " + change.path + ": " + change.reason,
                Notices::Seen::Changes);
  }
  say_gone(changes);
  // Behind the lines that it speaks of, which a terminal gets at the end.
  if (!told.empty()) notices.add("above", told_above(told, notices), Notices::Seen::Changes);
}

void say_handoffs(const std::vector<Quarantined>& handoffs, Notices& notices) {
  // A run can plant as many as it likes; the report has the first thousand.
  const bool folded = notices.layout() == Notices::Layout::Folded;
  const std::size_t most = folded ? handoffs.size() : 50;
  for (const Quarantined& handoff : std::span(handoffs).first(std::min(handoffs.size(), most)))
    notices.add(handoff_kind(handoff), handoff_text(handoff), Notices::Seen::Why);
  if (handoffs.size() > most)
    say_tinted(Tint::Warning,
               "and " + std::to_string(handoffs.size() - most) + " more such lines: see --report");
}

void say_lost_output(const Outcome& outcome) {
  for (const Denial& denial : outcome.denials) {
    if (const auto lost = lost_output_message(denial)) say_tinted(Tint::Bad, *lost);
  }
}

namespace {

void say_denials(const std::vector<Denial>& denials, Notices& notices) {
  // A program can try a thousand hosts; the report has them all.
  constexpr std::size_t kMostLines = 20;
  const bool folded = notices.layout() == Notices::Layout::Folded;
  std::size_t told = 0;
  std::size_t untold = 0;
  for (const Denial& denial : denials) {
    if (is_lost_output(denial)) continue;
    if (told == kMostLines && !folded) {
      ++untold;
      continue;
    }
    notices.add(denial.what + " " + denial.layer, denial_text(denial), Notices::Seen::Why);
    ++told;
  }
  if (untold == 0) return;
  say_warning("and " + std::to_string(untold) + " more denials; --report FILE has them all");
}

}  // namespace

void say_outcome(const Outcome& outcome, Notices& notices) {
  if (const auto killed = std::visit(KillText{}, outcome.end)) say_tinted(Tint::Bad, *killed);
  say_lost_output(outcome);
  say_denials(outcome.denials, notices);
  for (const Hint& hint : outcome.hints) {
    notices.add("hint " + hint.access, hint_text(hint), Notices::Seen::Why);
  }
  say_handoffs(outcome.handoff, notices);
}

}  // namespace cordon
