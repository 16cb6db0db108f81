#include <array>
#include <cerrno>

#include "base/path.h"
#include "base/text.h"
#include "cli/json_parts.h"
#include "cli/policy_options.h"
#include "cli/talk.h"
#include "cli/verbs.h"
#include "egress/own_addresses.h"
#include "host/owner.h"
#include "host/resolve.h"
#include "host/spelling.h"
#include "policy/decide.h"
#include "policy/known_sockets.h"
#include "policy/publish_rule.h"
#include "run/choose.h"
#include "run/contained_run.h"

namespace cordon {
namespace {

struct Explained {
  std::string access;
  std::string target;  // the canonical path, or host:port
  Verdict verdict;
  Mechanism mechanism;
};

// The policy as a run would have it, and what would carry the run out.
struct Judged {
  Judgement judgement;
  Mechanism mechanism;
};

struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
};

Result<Endpoint> parse_endpoint(std::string_view text) {
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
  return Endpoint{std::string(host), static_cast<std::uint16_t>(*port)};
}

Result<Access> parse_access(std::string_view word) {
  constexpr std::array<std::string_view, 5> kWords{"read", "write", "exec", "connect", "publish"};
  if (word == "read") return Access::Read;
  if (word == "write") return Access::Write;
  if (word == "exec") return Access::Execute;
  Error error =
      usage_error("unknown access " + quote(word), "write read, write, exec, connect or publish");
  if (const auto near = nearest(word, kWords)) error.hint = "did you mean " + *near + "?";
  return fail(std::move(error));
}

// What the caller may not even look at: where it leads is unknown, and no sandbox gives more.
Verdict unreachable() {
  return {false,
          "permissions",
          "the caller may not reach it outside, and a sandbox permits no more than that",
          {}};
}

// A run of root's is the run of whoever owns what it may write, or is refused for them.
void explain_owner(const Judged& judged, const Caller& caller, Verdict& verdict) {
  const auto owner = owner_to_run_as(judged.judgement.clamped.effective().write, caller,
                                     identity_mapping(judged.mechanism.choice.backend));
  if (!owner) {
    verdict = {false, "owner", message(owner.error()), owner.error().hint};
  } else if (*owner) {
    verdict.reason += "; the command runs as uid " + std::to_string((*owner)->uid) + ", gid " +
                      std::to_string((*owner)->gid) + ", who owns what it may write";
  }
}

Result<Judged> judge_run(const Arguments& arguments, const Caller& caller) {
  CORDON_TRY(backend, asked_backend(arguments));
  CORDON_TRY(asked, asked_policy(arguments, caller));
  CORDON_TRY(judgement, judge_policy(asked.policy, asked.ceilings, caller));
  RunInput input;
  input.argv = {"true"};
  input.policy = std::move(asked.policy);
  input.ceilings = std::move(asked.ceilings);
  input.backend = backend;
  input.own_program = "/proc/self/exe";
  CORDON_TRY(mechanism, mechanism_for(judgement, input, caller));
  return Judged{std::move(judgement), std::move(mechanism)};
}

Result<Explained> explain(const Arguments& arguments) {
  if (arguments.operands.size() != 2) {
    return fail(usage_error("an access and what it is for are to be named",
                            "options stand before operands: cordon policy explain [OPTION]... "
                            "read|write|exec PATH, connect HOST:PORT|SOCKET or publish PORT"));
  }
  const std::string_view word = arguments.operands[0];
  const std::string_view target = arguments.operands[1];
  CORDON_TRY(caller, identify_caller());
  if (word == "connect" && target.find('/') != std::string_view::npos) {
    CORDON_TRY(socket, canonicalize(target, caller.cwd, caller));
    CORDON_TRY(judged, judge_run(arguments, caller));
    return Explained{
        "connect", socket.path,
        decide_socket(judged.judgement.clamped.effective(), socket.lexical, socket.path),
        judged.mechanism};
  }
  if (word == "connect") {
    CORDON_TRY(endpoint, parse_endpoint(target));
    CORDON_TRY(judged, judge_run(arguments, caller));
    CORDON_TRY(own, own_addresses());
    return Explained{
        "connect", std::string(target),
        decide_connect(judged.judgement.clamped.effective().net, endpoint.host, endpoint.port, own),
        judged.mechanism};
  }
  if (word == "publish") {
    CORDON_TRY(rule, parse_publish_rule(target));
    CORDON_TRY(judged, judge_run(arguments, caller));
    return Explained{"publish", std::string(target),
                     decide_publish(judged.judgement.clamped.effective().net, rule),
                     judged.mechanism};
  }
  CORDON_TRY(access, parse_access(word));
  CORDON_TRY(spelled, spell_absolute(target, caller.cwd, caller));
  CORDON_TRY(judged, judge_run(arguments, caller));
  const Clamped& clamped = judged.judgement.clamped;
  const HostFacts& facts = judged.judgement.survey.facts;
  if (!has_dotdot(spelled) && is_of_sandbox(clamped, facts, spelled)) {
    return Explained{std::string(word), spelled, decide(clamped, facts, caller, access, spelled),
                     judged.mechanism};
  }
  const auto path = canonicalize(target, caller.cwd, caller);
  if (!path && path.error().error_number == EACCES) {
    return Explained{std::string(word), spelled, unreachable(), judged.mechanism};
  }
  if (!path) return fail(path.error());
  Explained explained{std::string(word), path->path,
                      decide(clamped, facts, caller, access, path->path), judged.mechanism};
  if (access == Access::Write && explained.verdict.allowed) {
    explain_owner(judged, caller, explained.verdict);
  }
  return explained;
}

std::string explain_json(const Explained& explained) {
  Node node{NodeMap{}};
  node.set("schema", "cordon.explain/1");
  node.set("access", explained.access);
  node.set("target", explained.target);
  node.set("allowed", explained.verdict.allowed);
  node.set("rule", explained.verdict.rule);
  node.set("reason", explained.verdict.reason);
  node.set("change", explained.verdict.change.empty() ? Node() : Node(explained.verdict.change));
  node.set("backend", name_of(explained.mechanism.choice.backend));
  std::vector<std::string> lost;
  for (const Loss loss : explained.mechanism.lost) lost.emplace_back(name_of(loss));
  node.set("lost", text_list(lost));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

std::string explain_text(const Explained& explained) {
  const Verdict& verdict = explained.verdict;
  std::string text = verdict.allowed ? "yes: " : "no: ";
  text.append(explained.access).append(" ").append(quote(explained.target)).append("\n");
  text.append("rule: ").append(sanitize(verdict.rule)).append("\n");
  text.append("because: ").append(sanitize(verdict.reason)).append("\n");
  if (!verdict.change.empty())
    text.append("change: ").append(sanitize(verdict.change)).append("\n");
  const std::string line = choice_line(explained.mechanism.choice, explained.mechanism.lost);
  if (!line.empty()) text.append("a run is ").append(sanitize(line)).append("\n");
  return text;
}

}  // namespace

int verb_policy_explain(const Arguments& arguments) {
  const auto explained = explain(arguments);
  if (!explained) {
    say_error(explained.error());
    return kAnswerError;
  }
  const bool json = arguments.has(FlagId::Json);
  if (!say_answer(json ? explain_json(*explained) : explain_text(*explained))) return kAnswerError;
  return explained->verdict.allowed ? kAnswerYes : kAnswerNo;
}

}  // namespace cordon
