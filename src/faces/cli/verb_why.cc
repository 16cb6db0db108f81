// cordon why: what was denied in a run that is over, by what, and what to change.
#include <map>

#include "base/text.h"
#include "faces/cli/console.h"
#include "faces/cli/verbs.h"
#include "host/resolve.h"
#include "run/account.h"

namespace cordon {
namespace {

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
                                                            {"cpu", "limits.cpu"},
                                                            {"file_size", "limits.file_size"},
                                                            {"timeout", "--timeout DURATION"}};
  const auto found = kCures.find(what);
  if (found == kCures.end()) return {};
  const bool option = found->second.starts_with("--");
  return option ? "run it with a larger " + found->second
                : "write a larger " + found->second + " into a policy of your own";
}

// The answer, line by line: what happened, and behind it what to do.
class Explained {
 public:
  void say_that(const std::string& what, const std::string& cure = {}) {
    text_ += sanitize(what) + "\n";
    if (!cure.empty()) text_ += "    " + sanitize(cure) + "\n";
    any_ = true;
  }
  void add_line(const std::string& line) { text_ += line + "\n"; }
  [[nodiscard]] bool any() const { return any_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  bool any_ = false;
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
    explained.say_that("denied: connecting to " + target + " by " + word_in(one, "rule") +
                           (reason.empty() ? "" : ": " + reason) + times(one),
                       "cordon policy explain connect " + target + " says what to change");
  }
}

void explain_denials(const Node& report, Explained& explained) {
  for (const Node& one : list_in(report, "denials")) {
    Denial denial{word_in(one, "what"), word_in(one, "detail"), word_in(one, "layer"),
                  static_cast<std::uint64_t>(integer_in(one, "count").value_or(1))};
    // Told with the connections.
    if (denial.what == "connect" && !list_in(report, "connections").empty()) continue;
    explained.say_that(denial_text(denial), cure_of_limit(denial.what));
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

void explain_files(const Node& report, const std::string& run_id, Explained& explained) {
  for (const Node& one : list_in(report, "handoff")) {
    const std::string path = word_in(one, "path");
    const std::string kind = word_in(one, "kind");
    if (kind.starts_with("unchecked")) {
      explained.say_that(path + ": " + kind);
    } else {
      explained.say_that("moved out of the tree: " + path + " (" + kind + ")",
                         "cordon changes apply " + run_id + " " + quote(path) + " takes it");
    }
  }
  std::size_t lost = 0;
  for (const Node& one : list_in(report, "changes")) {
    const std::string state = word_in(one, "state");
    const std::string path = word_in(one, "path");
    if (state == "lost") ++lost;
    if (state == "held") {
      explained.say_that("held back: " + path + " (" + word_in(one, "reason") + ")",
                         "cordon changes diff " + run_id + " " + quote(path) + " shows it");
    }
    if (state == "conflict") {
      explained.say_that("not applied, since the host changed it too: " + path,
                         "cordon changes diff " + run_id + " " + quote(path) + " shows both");
    }
  }
  if (lost > 0) {
    explained.say_that(
        "gone with the run: " + std::to_string(lost) + " entries of its private home and /tmp",
        "cordon changes list " + run_id + " names them");
  }
}

Result<int> why(const Arguments& arguments) {
  if (arguments.operands.size() > 1) {
    return fail(usage_error("unexpected operand " + quote(arguments.operands[1]),
                            "name one run: cordon why RUN"));
  }
  const std::string run(arguments.operands.empty() ? "last" : arguments.operands.front());
  CORDON_TRY(caller, identify_caller());
  CORDON_TRY(account, read_account(caller.state_directory, run));
  if (!account) {
    say(run == "last" ? "cordon: nothing has been run yet\n"
                      : "cordon: there is no account of run " + quote(run) +
                            "; the newest hundred with something to tell are kept\n");
    return kAnswerNo;
  }
  if (!account->report) {
    say("cordon: nothing was denied in run " + account->run_id + ", and it succeeded\n");
    return kAnswerNo;
  }
  const Node& report = *account->report;
  if (arguments.has(FlagId::Json)) {
    return say_answer(write_json(report, JsonStyle::Compact) + "\n") ? kAnswerYes : kAnswerError;
  }
  Explained explained;
  std::string head = "run " + account->run_id;
  if (const auto code = integer_in(report, "exit_code")) {
    head += ", exit status " + std::to_string(*code);
  } else if (!word_in(report, "signal").empty()) {
    head += ", " + word_in(report, "signal");
  }
  explained.add_line(head);
  explain_end(report, explained);
  explain_connections(report, explained);
  explain_denials(report, explained);
  explain_reductions(report, explained);
  explain_files(report, account->run_id, explained);
  if (!explained.any()) {
    explained.add_line(
        "nothing was denied that left a trace. A file that the policy hides looks absent to a\n"
        "command: cordon policy explain read PATH tells of one path, connect HOST:PORT of a host");
  }
  const int status = explained.any() ? kAnswerYes : kAnswerNo;
  return say_answer(explained.text()) ? status : kAnswerError;
}

}  // namespace

int verb_why(const Arguments& arguments) {
  const auto status = why(arguments);
  if (status) return *status;
  say_error(status.error());
  return kAnswerError;
}

}  // namespace cordon
