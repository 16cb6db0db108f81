#include "run/answers.h"

#include <array>
#include <cerrno>

#include "base/path.h"
#include "base/text.h"
#include "config/policy_document.h"
#include "egress/own_addresses.h"
#include "host/canonical.h"
#include "host/owner.h"
#include "host/resolve.h"
#include "plan/plan.h"
#include "policy/decide.h"
#include "policy/known_sockets.h"
#include "policy/net_rules.h"
#include "run/choose.h"

namespace cordon {

Node reductions_list(const std::vector<Reduction>& reductions) {
  NodeList list;
  for (const Reduction& reduction : reductions) {
    Node node{NodeMap{}};
    node.set("what", reduction.what);
    node.set("asked", reduction.asked);
    node.set("got", reduction.got ? Node(*reduction.got) : Node());
    node.set("because", name_of(reduction.because));
    list.push_back(std::move(node));
  }
  return {std::move(list)};
}

Node error_object(const Error& error) {
  Node node{NodeMap{}};
  node.set("kind", name_of(error.kind));
  node.set("code", error.exit_status);
  node.set("message", message(error));
  node.set("hint", error.hint.empty() ? Node() : Node(error.hint));
  return node;
}

Node loss_list(const std::vector<Loss>& lost) {
  NodeList list;
  for (const Loss loss : lost) list.emplace_back(name_of(loss));
  return {std::move(list)};
}

Node text_list(const std::vector<std::string>& texts) {
  NodeList list;
  for (const std::string& text : texts) list.emplace_back(text);
  return {std::move(list)};
}

namespace {

Node operations(const std::vector<Op>& list) {
  std::vector<std::string> lines;
  lines.reserve(list.size());
  for (const Op& operation : list) lines.push_back(describe(operation));
  return text_list(lines);
}

std::string plan_text(const JudgedRun& run) {
  std::string text = describe(run.plan);
  for (const Reduction& reduction : run.reductions) text += reduction_line(reduction) + "\n";
  const std::string line = choice_line(run.choice, run.plan.lost);
  if (!line.empty()) text += sanitize(line) + "\n";
  return text;
}

std::string plan_json(const JudgedRun& run) {
  Node node{NodeMap{}};
  node.set("schema", "cordon.plan/1");
  node.set("backend", name_of(run.plan.backend));
  node.set("chosen_by", name_of(run.choice.by));
  std::vector<std::string> passed_over;
  for (const PassedOver& passed : run.choice.passed_over) {
    passed_over.push_back(std::string(name_of(passed.backend)) + ": " + passed.reason);
  }
  node.set("passed_over", text_list(passed_over));
  node.set("argv", text_list(run.plan.argv));
  node.set("cwd", run.plan.cwd);
  std::vector<std::string> environment;
  for (const std::string& variable : run.plan.environment) {
    environment.push_back(describe_variable(variable, run.plan));
  }
  node.set("environment", text_list(environment));
  NodeList limits;
  for (const PlannedLimit& limit : run.plan.limits) {
    Node entry{NodeMap{}};
    entry.set("name", limit.name);
    entry.set("value", limit.value);
    entry.set("by", name_of(limit.by));
    limits.push_back(std::move(entry));
  }
  node.set("limits", std::move(limits));
  node.set("lost", loss_list(run.plan.lost));
  node.set("build", operations(run.plan.build));
  node.set("confine", operations(run.plan.confine));
  node.set("seal", operations(run.plan.seal));
  node.set("policy", encode_effective(run.clamped.effective()));
  node.set("reductions", reductions_list(run.reductions));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

}  // namespace

Result<PlanAnswer> plan_answer(const RunInput& input, const Caller& caller,
                               const std::vector<Reduction>& also) {
  CORDON_TRY(run, judge(input, caller));
  run.reductions.insert(run.reductions.end(), also.begin(), also.end());
  return PlanAnswer{run.choice, run.plan.lost, run.reductions, plan_text(run), plan_json(run)};
}

namespace {

std::vector<PathRule> rules_of(const std::vector<Grant>& grants) {
  std::vector<PathRule> rules;
  rules.reserve(grants.size());
  for (const Grant& grant : grants) rules.push_back({grant.path, {}});
  return rules;
}

// The effective policy as a document that could be read again.
Policy written_out(const Effective& effective) {
  Policy policy;
  policy.name = effective.name;
  policy.fs.read = rules_of(effective.read);
  policy.fs.write = rules_of(effective.write);
  for (const DenyGlob& deny : effective.deny) {
    std::string text = deny.anchor;
    if (text.empty()) {
      text = deny.pattern;
    } else if (!deny.pattern.empty()) {
      text = join(deny.anchor, deny.pattern);
    }
    policy.fs.deny.push_back({std::move(text), {}});
  }
  policy.fs.scratch = effective.scratch;
  policy.fs.home = effective.home;
  policy.fs.caches = effective.caches;
  policy.fs.trust_tracked = effective.trust_tracked;
  policy.fs.mode = effective.mode;
  policy.fs.stage = effective.stage;
  policy.net = effective.net;
  policy.net.sockets = rules_of(effective.sockets);
  policy.env = effective.env;
  policy.limits = effective.limits;
  policy.require.layers = effective.require;
  policy.agent = effective.agent;
  return policy;
}

std::string clamp_text(const ClampAnswer& answer) {
  std::string text = answer.policy.toml();
  if (!answer.reductions.empty()) text += "\n";
  for (const Reduction& reduction : answer.reductions) {
    text += "# " + reduction_line(reduction) + "\n";
  }
  return text;
}

std::string clamp_json(const ClampAnswer& answer, const Effective& effective) {
  Node node{NodeMap{}};
  node.set("schema", "cordon.clamp/1");
  node.set("ceilings", text_list(answer.ceilings));
  node.set("policy", encode_effective(effective));
  node.set("reductions", reductions_list(answer.reductions));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

}  // namespace

Result<ClampAnswer> clamp_answer(const RunInput& input, const Caller& caller,
                                 const std::vector<Reduction>& also) {
  CORDON_TRY(judgement, judge_policy(input.policy, input.ceilings, caller));
  const Effective& effective = judgement.clamped.effective();
  ClampAnswer answer;
  for (const Ceiling& ceiling : input.ceilings) answer.ceilings.push_back(ceiling.id);
  answer.policy = written_out(effective);
  answer.reductions = judgement.clamped.reductions();
  answer.reductions.insert(answer.reductions.end(), also.begin(), also.end());
  answer.text = clamp_text(answer);
  answer.json = clamp_json(answer, effective);
  return answer;
}

namespace {

// Explaining one access: the policy is judged as for a run, the target is looked at as the run
// would see it, and the rule that decides is named. What the sandbox has of its own (its /tmp, its
// /proc) is judged by its name alone, since the host's links and processes say nothing about it;
// everything else by the canonical path that the name leads to.

constexpr std::array kAccesses{Question::Access::Read, Question::Access::Write,
                               Question::Access::Execute, Question::Access::Connect,
                               Question::Access::Publish};

// The policy as a run would have it, and what would carry the run out.
struct ExplainedRun {
  Judgement judgement;
  Mechanism mechanism;
};

// What an access leads to, and the verdict on it.
struct Decided {
  std::string target;
  Verdict verdict;
};

struct HostAndPort {
  std::string host;
  std::uint16_t port = 0;
};

Result<HostAndPort> parse_host_and_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const Error bad = usage_error(quote(text) + " is not HOST:PORT",
                                "write example.com:443, 10.0.0.1:22 or [::1]:8080");
  if (colon == std::string_view::npos || colon == 0) return fail(bad);
  const auto port = parse_number(text.substr(colon + 1));
  constexpr std::uint64_t kLastPort = 65535;
  if (!port || *port == 0 || *port > kLastPort) return fail(bad);
  std::string_view host = text.substr(0, colon);
  if (host.front() == '[') {
    if (host.back() != ']' || host.size() < 3) return fail(bad);
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return fail(bad);
  }
  return HostAndPort{std::string(host), static_cast<std::uint16_t>(*port)};
}

// What the caller may not even look at: where it leads is unknown, and no sandbox gives more.
Verdict unreachable() {
  return {false,
          "permissions",
          "the caller may not reach it outside, and a sandbox permits no more than that",
          {}};
}

// A run of root's is the run of whoever owns what it may write, or is refused for them.
void explain_owner(const ExplainedRun& run, const Caller& caller, Verdict& verdict) {
  const auto owner = owner_to_run_as(run.judgement.clamped.effective().write, caller,
                                     identity_mapping(run.mechanism.choice.backend));
  if (!owner) {
    verdict = {false, "owner", message(owner.error()), owner.error().hint};
  } else if (*owner) {
    verdict.reason += "; the command runs as uid " + std::to_string((*owner)->uid) + ", gid " +
                      std::to_string((*owner)->gid) + ", who owns what it may write";
  }
}

Result<ExplainedRun> judge_explained(const RunInput& input, const Caller& caller) {
  CORDON_TRY(judgement, judge_policy(input.policy, input.ceilings, caller));
  CORDON_TRY(mechanism, mechanism_for(judgement, input, caller));
  return ExplainedRun{std::move(judgement), std::move(mechanism)};
}

Result<Decided> decide_connection(const ExplainedRun& run, const std::string& target,
                                  const Caller& caller) {
  const Effective& effective = run.judgement.clamped.effective();
  if (target.find('/') != std::string::npos) {
    CORDON_TRY(socket, canonicalize(target, caller.cwd, caller));
    return Decided{socket.path, decide_socket(effective, socket.lexical, socket.path)};
  }
  CORDON_TRY(place, parse_host_and_port(target));
  CORDON_TRY(own, own_addresses());
  return Decided{target, decide_connect(effective.net, place.host, place.port, own)};
}

// An option that a verdict advises is tried before it is told: a ceiling, or a credential store
// under another name, would make a run refuse it, or show nothing all the same.
void prove_advice(const RunInput& input, const Caller& caller, Access access,
                  const std::string& path, Verdict& verdict) {
  const bool reads = verdict.change.starts_with("--read ");
  if (verdict.allowed || (!reads && !verdict.change.starts_with("--write "))) return;
  Policy policy = input.policy;
  (reads ? policy.fs.read : policy.fs.write).push_back({path, "/", Origin::Option});
  const auto judgement = judge_policy(policy, input.ceilings, caller);
  if (!judgement) {
    verdict.reason += "; " + std::string(reads ? "--read" : "--write") +
                      " of it is refused: " + message(judgement.error());
    verdict.change = judgement.error().hint;
    return;
  }
  Verdict with = decide(judgement->clamped, judgement->survey.facts, caller, access, path);
  if (!with.allowed) verdict = std::move(with);
}

Result<Decided> decide_file(const RunInput& input, const ExplainedRun& run, Access access,
                            const std::string& target, const Caller& caller) {
  const Clamped& clamped = run.judgement.clamped;
  const HostFacts& facts = run.judgement.survey.facts;
  CORDON_TRY(spelled, spell_absolute(target, caller.cwd, caller));
  if (!has_dotdot(spelled) && is_of_sandbox(clamped, facts, spelled)) {
    return Decided{spelled, decide(clamped, facts, caller, access, spelled)};
  }
  const auto path = canonicalize(target, caller.cwd, caller);
  if (!path && path.error().error_number == EACCES) return Decided{spelled, unreachable()};
  if (!path) return fail(path.error());
  Decided decided{path->path, decide(clamped, facts, caller, access, path->path)};
  // An option that names nothing that is there is refused.
  std::string& change = decided.verdict.change;
  if (path->kind == FileKind::Absent && change.starts_with("--")) {
    change = "make it first, then " + change;
  } else {
    prove_advice(input, caller, access, path->path, decided.verdict);
  }
  if (access == Access::Write && decided.verdict.allowed) {
    explain_owner(run, caller, decided.verdict);
  }
  return decided;
}

Result<Decided> decide_question(const RunInput& input, const ExplainedRun& run,
                                const Question& question, const Caller& caller) {
  switch (question.access) {
    case Question::Access::Read:
      return decide_file(input, run, Access::Read, question.target, caller);
    case Question::Access::Write:
      return decide_file(input, run, Access::Write, question.target, caller);
    case Question::Access::Execute:
      return decide_file(input, run, Access::Execute, question.target, caller);
    case Question::Access::Connect:
      return decide_connection(run, question.target, caller);
    case Question::Access::Publish: {
      CORDON_TRY(rule, parse_publish_rule(question.target));
      return Decided{question.target, decide_publish(run.judgement.clamped.effective().net, rule)};
    }
  }
  return fail(usage_error("an access of no kind"));
}

std::string explain_json(const Explanation& explained) {
  Node node{NodeMap{}};
  node.set("schema", "cordon.explain/1");
  node.set("access", name_of(explained.access));
  node.set("target", explained.target);
  node.set("allowed", explained.allowed);
  node.set("rule", explained.rule);
  node.set("reason", explained.reason);
  node.set("change", explained.change.empty() ? Node() : Node(explained.change));
  node.set("backend", name_of(explained.choice.backend));
  node.set("lost", loss_list(explained.lost));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

std::string explain_text(const Explanation& explained) {
  std::string text = explained.allowed ? "yes: " : "no: ";
  text.append(name_of(explained.access)).append(" ").append(quote(explained.target)).append("\n");
  text.append("rule: ").append(sanitize(explained.rule)).append("\n");
  text.append("because: ").append(sanitize(explained.reason)).append("\n");
  if (!explained.change.empty()) {
    text.append("change: ").append(sanitize(explained.change)).append("\n");
  }
  const std::string line = choice_line(explained.choice, explained.lost);
  if (!line.empty()) text.append("a run is ").append(sanitize(line)).append("\n");
  return text;
}

}  // namespace

std::string_view name_of(Question::Access access) {
  switch (access) {
    case Question::Access::Read:
      return "read";
    case Question::Access::Write:
      return "write";
    case Question::Access::Execute:
      return "exec";
    case Question::Access::Connect:
      return "connect";
    case Question::Access::Publish:
      return "publish";
  }
  return "";
}

Result<Question::Access> parse_access(std::string_view word) {
  std::vector<std::string_view> words;
  for (const Question::Access access : kAccesses) {
    if (word == name_of(access)) return access;
    words.push_back(name_of(access));
  }
  Error error =
      usage_error("unknown access " + quote(word), "write read, write, exec, connect or publish");
  if (const auto near = nearest(word, words)) error.hint = "did you mean " + *near + "?";
  return fail(std::move(error));
}

Result<Explanation> explain_access(const RunInput& input, const Question& question,
                                   const Caller& caller) {
  CORDON_TRY(run, judge_explained(input, caller));
  CORDON_TRY(decided, decide_question(input, run, question, caller));
  Explanation explained{question.access,
                        std::move(decided.target),
                        decided.verdict.allowed,
                        std::move(decided.verdict.rule),
                        std::move(decided.verdict.reason),
                        std::move(decided.verdict.change),
                        std::move(run.mechanism.choice),
                        std::move(run.mechanism.lost),
                        {},
                        {}};
  explained.text = explain_text(explained);
  explained.json = explain_json(explained);
  return explained;
}

}  // namespace cordon
