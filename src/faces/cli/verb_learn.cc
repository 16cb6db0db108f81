// cordon learn: what a command needs beyond its policy, found by running it in stages that are
// thrown away.
//
// Nothing may leave because of it: a path that the command asked for is granted to a later round
// only if a person accepted it, or if there is no network and nothing of that round lasts. A host
// is granted only if a person accepted it.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "config/node.h"
#include "faces/cli/closing_lines.h"
#include "faces/cli/console.h"
#include "faces/cli/learned_policy.h"
#include "faces/cli/policy_options.h"
#include "faces/cli/session.h"
#include "faces/cli/verbs.h"
#include "host/resolve.h"
#include "policy/net_rules.h"
#include "run/line.h"
#include "run/staged_run.h"

namespace cordon {
namespace {

constexpr int kMostRounds = 5;

std::string_view word_for(Proposal::Kind kind) {
  switch (kind) {
    case Proposal::Kind::Read:
      return "read";
    case Proposal::Kind::Write:
      return "write";
    case Proposal::Kind::Host:
      return "allow";
  }
  return "";
}

std::string ended_with(const End& end) {
  if (const auto* exited = std::get_if<Exited>(&end)) {
    return "exit status " + std::to_string(exited->code);
  }
  return "status " + std::to_string(exit_status(end));
}

// A line of the person at the terminal; nothing at its end, or once a signal came.
std::optional<std::string> read_answer(int signals) {
  std::string line;
  for (char c = 0;;) {
    pollfd polled[] = {{signals, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    if (::poll(polled, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return std::nullopt;
    }
    if (polled[0].revents != 0) return std::nullopt;
    const ssize_t got = ::read(STDIN_FILENO, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    if (c == '\n') return line;
    line.push_back(c);
  }
}

class Learner {
 public:
  Learner(RunInput base, const Caller& caller, bool asks)
      : base_(std::move(base)), caller_(caller), asks_(asks) {
    learned_.argv = base_.argv;
  }

  Result<void> learn();
  [[nodiscard]] const Learned& learned() const { return learned_; }
  [[nodiscard]] const std::vector<Hint>& hints() const { return hints_; }
  [[nodiscard]] bool cancelled() const { return cancelled_; }

 private:
  [[nodiscard]] bool is_cut_off() const {
    const NetRules& net = base_.policy.net;
    return net.mode == NetMode::None && net.sockets.empty() && net.publish.empty();
  }
  Result<Report> run_round();
  Result<void> discard(const Report& report) const;
  // True if a further round has something that the last one had not.
  bool take_up(const std::vector<Denial>& denials, bool succeeded);
  bool accept(const Proposal& proposal);
  void note_gone(const std::vector<Change>& changes);

  RunInput base_;
  const Caller& caller_;
  const bool asks_;
  bool enough_ = false;  // the person wants no more questions
  bool cancelled_ = false;
  std::vector<Denial> denials_;    // of all rounds
  std::vector<Hint> hints_;        // of the last one
  std::vector<Proposal> asked_;    // that a person has answered
  std::vector<Proposal> granted_;  // to the next round
  Learned learned_;
};

bool same_line(const Proposal& one, const Proposal& other) {
  return one.kind == other.kind && one.value == other.value;
}

bool is_among(const std::vector<Proposal>& list, const Proposal& proposal) {
  return std::ranges::any_of(list, [&](const Proposal& one) { return same_line(one, proposal); });
}

Result<Report> Learner::run_round() {
  RunInput input = base_;
  for (const Proposal& proposal : granted_) {
    if (is_covered_by_write(proposal, granted_)) continue;
    switch (proposal.kind) {
      case Proposal::Kind::Read:
        input.policy.fs.read.push_back({proposal.value, "/"});
        break;
      case Proposal::Kind::Write:
        input.policy.fs.write.push_back({proposal.value, "/"});
        break;
      case Proposal::Kind::Host:
        CORDON_TRY(rule, parse_host_rule(proposal.value));
        input.policy.net.allow_host(std::move(rule));
        break;
    }
  }
  // What nobody accepted must not wait for a later run that has a network.
  if (!asks_ && !granted_.empty()) {
    input.policy.fs.home = std::min(input.policy.fs.home, HomeMode::Private);
    input.policy.fs.caches = false;
  }
  Report report = run_contained(input, caller_);
  if (report.error) return fail(*report.error);
  CORDON_CHECK(discard(report));
  return report;
}

Result<void> Learner::discard(const Report& report) const {
  if (!report.stage || !left_changes(report)) return {};
  CORDON_TRY(done, decide_stage(report.run_id, StageFate::Discard, base_, caller_));
  (void)done;
  return {};
}

void Learner::note_gone(const std::vector<Change>& changes) {
  learned_.gone.clear();
  for (const Change& change : changes) {
    // The log of a repository in a stage is in the list as well; it is the host's that counts.
    if (change.state == Change::State::Lost && !change.reason.starts_with("reflog"))
      learned_.gone.push_back(change.path);
  }
}

bool Learner::accept(const Proposal& proposal) {
  if (enough_ || is_among(asked_, proposal)) return false;
  asked_.push_back(proposal);
  for (;;) {
    say("cordon: " + std::string(word_for(proposal.kind)) + " " +
        sanitize(policy_value(proposal, caller_)) + ", asked for " +
        (proposal.count == 1 ? "once" : std::to_string(proposal.count) + " times") +
        "? y, n, q (no more questions): ");
    const auto answer = read_answer(base_.signal_descriptor);
    if (!answer) cancelled_ = true;
    if (!answer || *answer == "q") enough_ = true;
    if (!answer || *answer == "q" || *answer == "n" || answer->empty()) return false;
    if (*answer == "y") return true;
  }
}

bool Learner::take_up(const std::vector<Denial>& denials, bool succeeded) {
  denials_.insert(denials_.end(), denials.begin(), denials.end());
  Proposals found = propose(denials_, caller_);
  const std::size_t before = granted_.size();
  learned_.left_out = std::move(found.left_out);
  const auto is_new = [&](const Proposal& one) { return !is_among(granted_, one); };
  if (asks_) {
    for (const Proposal& one : found.granted) {
      if (is_new(one) && accept(one)) granted_.push_back(one);
    }
  } else if (is_cut_off()) {
    for (const Proposal& one : found.granted) {
      if (is_new(one) && !one.only_looked && one.kind != Proposal::Kind::Host)
        granted_.push_back(one);
    }
    // What was only looked for counts where nothing else explains the failure.
    const bool unexplained = granted_.size() == before && !succeeded;
    for (const Proposal& one : found.granted) {
      if (unexplained && is_new(one) && one.kind == Proposal::Kind::Read) granted_.push_back(one);
    }
  }
  learned_.lines.clear();
  for (const Proposal& one : found.granted) {
    const bool counts = is_among(granted_, one);
    if (asks_ && is_covered_by_write(one, granted_)) continue;
    const bool reads = one.kind == Proposal::Kind::Read && !one.only_looked;
    learned_.lines.push_back(
        {one, asks_ ? counts : reads || (counts && one.kind == Proposal::Kind::Read)});
  }
  return granted_.size() != before;
}

Result<void> Learner::learn() {
  for (int round = 1; round <= kMostRounds; ++round) {
    auto report = run_round();
    if (!report && round > 1) {
      // What it asked to write cannot be staged.
      const auto writes = [](const Proposal& one) { return one.kind == Proposal::Kind::Write; };
      if (std::erase_if(granted_, writes) > 0) report = run_round();
    }
    if (!report) return fail(std::move(report).error());
    const Outcome& outcome = *report->outcome;
    learned_.rounds = round;
    learned_.ended = ended_with(outcome.end);
    hints_ = outcome.hints;
    note_gone(report->changes);
    cancelled_ = cancelled_ || std::holds_alternative<Cancelled>(outcome.end);
    const bool succeeded = outcome.end == End(Exited{0});
    const bool more = take_up(outcome.denials, succeeded) && !cancelled_ && !enough_;
    say("cordon: round " + std::to_string(round) + ": " + learned_.ended + "\n");
    if (!more) break;
  }
  return {};
}

std::string learned_json(const Learned& learned, const std::string& toml) {
  Node node{NodeMap{}};
  node.set("schema", "cordon.learn/1");
  node.set("rounds", Node(static_cast<std::int64_t>(learned.rounds)));
  node.set("ended", learned.ended);
  NodeList lines;
  for (const LearnedLine& one : learned.lines) {
    Node line{NodeMap{}};
    line.set("list", word_for(one.proposal.kind)).set("value", one.proposal.value);
    line.set("count", one.proposal.count).set("only_looked", one.proposal.only_looked);
    lines.push_back(std::move(line.set("live", one.live)));
  }
  node.set("lines", std::move(lines));
  NodeList left_out;
  for (const LeftOut& one : learned.left_out) {
    Node left{NodeMap{}};
    left_out.push_back(std::move(left.set("what", one.what).set("why", one.why)));
  }
  node.set("left_out", std::move(left_out));
  NodeList gone;
  for (const std::string& path : learned.gone) gone.emplace_back(path);
  node.set("gone", std::move(gone));
  node.set("policy", toml);
  return write_json(node, JsonStyle::Compact) + "\n";
}

Result<RunInput> learning_input(const Arguments& arguments, const Caller& caller) {
  if (arguments.operands.empty()) {
    return fail(usage_error("no command was given", "cordon learn [OPTION]... [--] CMD [ARG]..."));
  }
  CORDON_TRY(asked, asked_policy(arguments, caller));
  RunInput input;
  for (const std::string_view word : arguments.operands) input.argv.emplace_back(word);
  input.policy = std::move(asked.policy);
  input.policy.fs.mode = WriteMode::Staged;
  input.ceilings = std::move(asked.ceilings);
  input.stage_decision = StageDecision::ByCaller;
  input.describe_policy = false;
  input.cures = true;
  input.why = true;
  input.tell_choice = say_choice;
  input.streams.out = Output::unfiltered_to(STDERR_FILENO, STDERR_FILENO);
  return input;
}

Result<void> write_accepted(const std::string& path, const std::string& text) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const int error = !file.valid() ? errno : write_whole(file.get(), text);
  if (error == 0) return {};
  return fail(usage_error("cannot write " + quote(path) + ": " + std::strerror(error),
                          error == EEXIST ? "name a file that is not there yet" : ""));
}

// How what was written is used. A run refuses a policy that it could rewrite, and so one in the
// project: then it is kept with the others.
std::string next_step(const std::string& path, const Learned& learned, const Policy& base,
                      const Caller& caller) {
  if (!base.file.empty()) return "add its lines to " + quote(base.file);
  std::string command;
  for (const std::string& word : learned.argv) command.append(" ").append(shell_word(word));
  const auto file = canonicalize_existing(path, caller.cwd, caller);
  const auto project = canonicalize_existing(caller.cwd, "/", caller);
  if (!file || !project || !contains(project->path, file->path)) {
    const std::string named = path.find('/') == std::string::npos ? "./" + path : path;
    return "cordon run --policy " + shell_word(named) + " --" + command;
  }
  constexpr std::string_view kSuffix = ".toml";
  std::string name(basename(file->path));
  if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
  const std::string directory = join(caller.config_directory, "policies");
  return "mkdir -p " + shell_word(directory) + " && mv " + shell_word(path) + " " +
         shell_word(join(directory, name + std::string(kSuffix))) + " && cordon run --policy " +
         shell_word(name) + " --" + command;
}

Result<int> learn(const Arguments& arguments) {
  CORDON_TRY(caller, identify_caller());
  CORDON_TRY(input, learning_input(arguments, caller));
  const bool json = arguments.has(FlagId::Json);
  const auto out = arguments.value(FlagId::Out);
  if (out && ::access(std::string(*out).c_str(), F_OK) == 0) {
    return fail(usage_error(quote(*out) + " exists", "name a file that is not there yet"));
  }
  const Fd signals = watch_signals();
  if (!signals.valid()) return fail(setup_error("cannot watch for signals", errno));
  input.signal_descriptor = signals.get();
  const Policy base = input.policy;
  const bool asks = !json && ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
  Learner learner(std::move(input), caller, asks);
  CORDON_CHECK(learner.learn());
  const Learned& learned = learner.learned();
  if (learner.cancelled()) {
    say("cordon: given up: nothing is proposed\n");
    return kAnswerError;
  }
  const std::string toml = learned_toml(learned, base, caller);
  if (json) {
    if (!say_answer(learned_json(learned, toml))) return kAnswerError;
  } else if (learned.lines.empty() && learned.left_out.empty()) {
    // A file that the person may not read outside is no denial, and still may be why it failed.
    for (const Hint& hint : learner.hints()) say_warning(hint_text(hint));
    say("cordon: nothing was refused that you could have done outside: there is nothing to "
        "propose\n");
  } else if (out && asks) {
    CORDON_CHECK(write_accepted(std::string(*out), toml));
    say("cordon: written to " + sanitize(*out) + "\n");
    say("next: " + sanitize(next_step(std::string(*out), learned, base, caller)) + "\n");
  } else {
    if (out) say("cordon: " + sanitize(*out) + " is not written: nobody accepted a line\n");
    if (!say_answer(toml)) return kAnswerError;
    // Who asked for a file and has none was not given what was asked for.
    if (out) return kAnswerError;
  }
  return learned.lines.empty() ? kAnswerNo : kAnswerYes;
}

}  // namespace

int verb_learn(const Arguments& arguments) {
  const auto status = learn(arguments);
  if (status) return *status;
  say_error(status.error());
  return kAnswerError;
}

}  // namespace cordon
