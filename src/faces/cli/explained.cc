#include "faces/cli/explained.h"

#include <map>
#include <set>

#include "base/text.h"
#include "egress/meter.h"
#include "faces/cli/closing_lines.h"
#include "faces/cli/console.h"
#include "policy/known_sockets.h"

namespace cordon {

std::string word_in(const Node& node, const char* name) {
  const Node* member = node.find(name);
  const std::string* found = member != nullptr ? member->text() : nullptr;
  return found != nullptr ? *found : std::string();
}

std::optional<std::int64_t> integer_in(const Node& node, const char* name) {
  const Node* member = node.find(name);
  const auto* found = member != nullptr ? std::get_if<std::int64_t>(&member->value) : nullptr;
  return found != nullptr ? std::optional(*found) : std::nullopt;
}

bool is_set(const Node& node, const char* name) {
  const Node* member = node.find(name);
  const auto* found = member != nullptr ? std::get_if<bool>(&member->value) : nullptr;
  return found != nullptr && *found;
}

const NodeList& list_in(const Node& node, const char* name) {
  static const NodeList none;
  const Node* member = node.find(name);
  const NodeList* found = member != nullptr ? member->list() : nullptr;
  return found != nullptr ? *found : none;
}

namespace {

std::string times(const Node& node) {
  const std::int64_t count = integer_in(node, "count").value_or(1);
  return count > 1 ? ", " + std::to_string(count) + " times" : std::string();
}

// What raises a limit.
std::string cure_of_limit(const std::string& what) {
  static const std::map<std::string, std::string> kCures = {{"memory", "--memory SIZE"},
                                                            {"oom", "--memory SIZE"},
                                                            {"pids", "--pids N"},
                                                            {"scratch", "--scratch SIZE"},
                                                            {"output", "limits.output_total"},
                                                            {"sent", "limits.sent"},
                                                            {"connections", "limits.connections"},
                                                            {"cpu", "limits.cpu"},
                                                            {"file_size", "limits.file_size"},
                                                            {"timeout", "--timeout DURATION"}};
  const auto found = kCures.find(what);
  if (found == kCures.end()) return {};
  const bool option = found->second.starts_with("--");
  return option ? "run it with a larger " + found->second
                : "write a larger " + found->second + " into a policy of your own";
}

// What raises the budget that a request met: "limits.requests = 5", "[[secret]] key: requests = 2".
std::string cure_of_budget(const std::string& rule) {
  constexpr std::string_view kLimits = "limits.";
  constexpr std::string_view kSecret = "[[secret]] ";
  if (rule.starts_with(kLimits)) {
    return "write a larger " + rule.substr(0, rule.find(' ')) + " into a policy of your own";
  }
  if (rule.starts_with(kSecret)) {
    return "write a larger \"requests\" into the [[secret]] " +
           rule.substr(kSecret.size(), rule.find(':') - kSecret.size());
  }
  return {};
}

class Explained {
 public:
  void say_that(const std::string& what, const std::string& cure = {}) {
    lines_.push_back({what, cure});
  }
  std::vector<ExplainedLine> take() && { return std::move(lines_); }

 private:
  std::vector<ExplainedLine> lines_;
};

void explain_end(const Node& report, Explained& explained) {
  if (const Node* error = report.find("error"); error != nullptr && error->map() != nullptr) {
    explained.say_that("not started: " + word_in(*error, "message"), word_in(*error, "hint"));
    return;
  }
  const std::string reason = word_in(report, "kill_reason");
  if (is_set(report, "timed_out")) {
    explained.say_that("ended at the limit of the wall clock", cure_of_limit("timeout"));
  } else if (reason == "cancelled") {
    explained.say_that("ended by whoever started it");
  } else if (!reason.empty() && reason != "signal") {
    explained.say_that("ended at a limit: " + reason, cure_of_limit(reason));
  }
}

void explain_connections(const Node& report, Explained& explained) {
  for (const Node& one : list_in(report, "connections")) {
    if (is_set(one, "allowed")) continue;
    const std::string host =
        word_in(one, "host").empty() ? word_in(one, "address") : word_in(one, "host");
    const std::string target = host + ":" + std::to_string(integer_in(one, "port").value_or(0));
    const std::string reason = word_in(one, "reason");
    if (reason == kOnlyTcp) continue;  // told with the denials
    const bool used_up = word_in(one, "rule").starts_with("limits.connections");
    explained.say_that("denied: connecting to " + target + " by " + word_in(one, "rule") +
                           (reason.empty() ? "" : ": " + reason) + times(one),
                       used_up
                           ? cure_of_limit("connections")
                           : "cordon policy explain connect " + target + " says what to change");
  }
}

// The option that lets a socket of the host be reached, and what that gives away. `detail` begins
// with the path, quoted as a shell reads it.
std::string cure_of_socket(const std::string& detail) {
  const std::string path = detail.substr(0, detail.rfind(": "));
  const std::string_view danger = danger_of_socket(path);
  return "--socket " + path + " lets it be reached" +
         (danger.empty() ? "" : "; beware: " + std::string(danger));
}

void explain_denials(const Node& report, Explained& explained) {
  for (const Node& one : list_in(report, "denials")) {
    Denial denial{
        word_in(one, "what"),  word_in(one, "detail"),
        word_in(one, "layer"), static_cast<std::uint64_t>(integer_in(one, "count").value_or(1)),
        word_in(one, "path"),  word_in(one, "access"),
        word_in(one, "rule"),  word_in(one, "change"),
        is_set(one, "certain")};
    const bool socket = denial.rule == "net.sockets";
    // Told with the connections.
    if (denial.what == "connect" && !socket && !list_in(report, "connections").empty()) continue;
    std::string cure = socket ? cure_of_socket(denial.detail) : cure_of_limit(denial.what);
    if (denial.what == "request") cure = cure_of_budget(denial.rule);
    if (!denial.change.empty()) {
      cure = denial.change;
    } else if (!denial.path.empty() && denial.access != "connect") {
      cure = kNothingGrants;
    } else if (denial.what == "resolve") {
      const std::string name = denial.detail.substr(0, denial.detail.find(": "));
      cure = "cordon policy explain connect " + quote(name + ":443") +
             " says what to change; name the port that was meant";
    }
    explained.say_that(denial_words(denial), cure);
  }
}

void explain_hints(const Node& report, Explained& explained) {
  for (const Node& one : list_in(report, "hints")) {
    const std::string asked = word_in(one, "access") + " " + quote(word_in(one, "path"));
    const std::string change = word_in(one, "change");
    if (word_in(one, "access") == "call") {
      explained.say_that("perhaps it failed of this: " + word_in(one, "path") +
                             " is refused in every sandbox (" + word_in(one, "rule") + ")",
                         change);
      continue;
    }
    explained.say_that(
        "perhaps it failed of this: " + asked + " is not granted (" + word_in(one, "rule") + ")",
        change.empty() ? "cordon policy explain " + asked + " says what to change" : change);
  }
}

void explain_reductions(const Node& report, Explained& explained) {
  for (const Node& one : list_in(report, "reductions")) {
    const std::string got = word_in(one, "got");
    explained.say_that(
        "taken away: " + word_in(one, "what") + " " + word_in(one, "asked") +
            (got.empty() ? "" : ", " + got + " is left") + " (" + word_in(one, "because") + ")",
        word_in(one, "because") == "outside-ceiling" ? "cordon policy clamp shows by which ceiling"
                                                     : "");
  }
}

// What was moved out of the tree while the run went on, or when it ended.
void explain_moved(const Node& one, const std::string& run_id,
                   const std::optional<Change::State>& now, Explained& explained) {
  const std::string path = word_in(one, "path");
  const std::string kind = word_in(one, "kind");
  if (kind.starts_with("unchecked") || kind.starts_with("removed: ")) {
    explained.say_that(path + ": " + kind);
    return;
  }
  const std::string moved = "moved out of the tree: " + path + " (" + kind + ")";
  if (now == Change::State::Applied) {
    explained.say_that(moved + "; applied since");
  } else if (now == Change::State::Discarded) {
    explained.say_that(moved + "; discarded since");
  } else {
    explained.say_that(moved, "cordon changes apply " + run_id + " " + quote(path) + " takes it");
  }
}

// What waits. An ordinary change waits because the run was to be reviewed, and has no reason.
void explain_change(const Node& one, const std::string& run_id, Change::State state,
                    Explained& explained) {
  const std::string path = word_in(one, "path");
  const std::string reason = word_in(one, "reason");
  const std::string operands = run_id + " " + quote(path);
  if (state == Change::State::Conflict) {
    explained.say_that("not applied, since the host changed it too: " + path,
                       "cordon changes diff " + operands + " shows both");
  } else if (state == Change::State::Held && reason.empty()) {
    explained.say_that("not applied yet: " + path,
                       "cordon changes apply " + operands + " takes it");
  } else if (state == Change::State::Held) {
    explained.say_that("held back: " + path + " (" + reason + ")",
                       "cordon changes diff " + operands + " shows it");
  }
}

void explain_files(const Node& report, const std::string& run_id, const StateNow& now,
                   Explained& explained) {
  const auto state_now = [&](const std::string& path) {
    return now ? now(path) : std::optional<Change::State>();
  };
  std::set<std::string> told;
  for (const Node& one : list_in(report, "handoff")) {
    const std::string path = word_in(one, "path");
    explain_moved(one, run_id, state_now(path), explained);
    told.insert(path);
  }
  std::size_t lost = 0;
  for (const Node& one : list_in(report, "changes")) {
    const std::string path = word_in(one, "path");
    const std::string then = word_in(one, "state");
    if (then == name_of(Change::State::Lost)) ++lost;
    if (told.contains(path)) continue;
    for (const Change::State waits : {Change::State::Held, Change::State::Conflict}) {
      if (then == name_of(waits)) {
        explain_change(one, run_id, state_now(path).value_or(waits), explained);
      }
    }
  }
  if (lost > 0) {
    explained.say_that("gone with the run: " + std::to_string(lost) +
                           " entries of its private home, /tmp and the like",
                       "cordon changes list " + run_id + " names them");
  }
}

}  // namespace

std::vector<ExplainedLine> explain_report(const Node& report, const StateNow& now) {
  Explained explained;
  explain_end(report, explained);
  explain_connections(report, explained);
  explain_denials(report, explained);
  explain_hints(report, explained);
  explain_reductions(report, explained);
  explain_files(report, word_in(report, "run_id"), now, explained);
  return std::move(explained).take();
}

std::string ended_words(const Node& report) {
  if (const auto code = integer_in(report, "exit_code"))
    return "exit status " + std::to_string(*code);
  return word_in(report, "signal");
}

}  // namespace cordon
