// Explaining one access. The request is judged as for a run, and the plan that the run would carry
// out is asked what it does with the path (run/access.h), so that there is no second opinion. What
// the sandbox has of its own (its /tmp, its /proc) is judged by its name alone, since the host's
// links and processes say nothing about it; everything else by the canonical path that the name
// leads to, and by the links on the way, which have to be there inside as well.
//
// Nothing is started but the probes of the host that every query makes, nothing is written, and of
// the granted trees only the directories on the way to the path are looked at. A file with several
// names is the exception: whether one of them is protected is known only when all are.
#include <algorithm>
#include <array>
#include <cerrno>

#include "base/path.h"
#include "base/text.h"
#include "egress/own_addresses.h"
#include "host/canonical.h"
#include "host/inspect.h"
#include "host/owner.h"
#include "host/resolve.h"
#include "plan/view.h"
#include "policy/http_rules.h"
#include "policy/known_sockets.h"
#include "policy/net_rules.h"
#include "run/access.h"
#include "run/advice.h"
#include "run/answers.h"
#include "run/choose.h"
#include "run/net_advice.h"

namespace cordon {
namespace {

constexpr std::array kAccesses{Question::Access::Read,    Question::Access::Write,
                               Question::Access::Execute, Question::Access::Connect,
                               Question::Access::Publish, Question::Access::Request};

// What an access leads to, and the answer to it.
struct Explained {
  std::string target;
  AccessAnswer answer;
  BackendChoice choice;
  std::vector<Loss> lost;
};

Explained explained_by(JudgedRun run, std::string target, AccessAnswer answer) {
  return {std::move(target), std::move(answer), std::move(run.choice), std::move(run.plan.lost)};
}

AccessAnswer plain(Verdict verdict) {
  const bool yes = verdict.allowed;
  return {std::move(verdict), yes ? Settled::Yes : Settled::Policy, yes, {}};
}

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

Result<Explained> explain_connection(const RunInput& input, const std::string& target,
                                     const Caller& caller) {
  // No file matters, so no tree is looked at.
  const std::optional<std::vector<std::string>> no_paths{std::in_place};
  if (const auto host = rule_of_url(target)) {
    return fail(usage_error(quote(target) + " is a URL, and a connection goes to a host and a port",
                            "write " + *host + "; cordon policy explain request GET " +
                                quote(target) + " asks of a request"));
  }
  CORDON_TRY(run, judge_question(input, caller, no_paths));
  const Effective& effective = run.clamped.effective();
  if (target.find('/') != std::string::npos) {
    CORDON_TRY(socket, canonicalize(target, caller.cwd, caller));
    Verdict verdict = decide_socket(effective, socket.lexical, socket.path);
    if (!verdict.allowed && socket.kind == FileKind::Absent) {
      verdict.reason += "; nothing is there now";
      verdict.change = "start what listens there, then ask again";
    } else if (!verdict.allowed &&
               (socket.kind == FileKind::Directory || socket.kind == FileKind::Regular)) {
      verdict.reason = "it is no socket";
      verdict.change.clear();
    } else if (!verdict.allowed) {
      const auto connects = [&](const RunInput& changed) -> Result<Verdict> {
        CORDON_TRY(again, judge_question(changed, caller, no_paths));
        return decide_socket(again.clamped.effective(), socket.lexical, socket.path);
      };
      advise_socket(input, socket.path, connects, verdict);
    }
    return explained_by(std::move(run), socket.path, plain(std::move(verdict)));
  }
  CORDON_TRY(place, parse_host_and_port(target));
  CORDON_TRY(own, own_addresses());
  Verdict verdict = decide_connect(effective.net, place.host, place.port, own);
  // The option that a verdict proposes names the host as rules are written.
  constexpr std::string_view kAllow = "--allow ";
  const bool v6 = place.host.find(':') != std::string::npos;
  auto rule = parse_host_rule((v6 ? "[" + place.host + "]" : place.host) + ":" +
                              std::to_string(place.port));
  if (verdict.change.starts_with(kAllow)) {
    rule = parse_host_rule(std::string_view(verdict.change).substr(kAllow.size()));
  }
  if (!verdict.allowed && rule) {
    const auto connects = [&](const RunInput& changed) -> Result<Verdict> {
      CORDON_TRY(again, judge_question(changed, caller, no_paths));
      return decide_connect(again.clamped.effective().net, place.host, place.port, own);
    };
    CORDON_CHECK(advise_connect(input, *rule, connects, verdict));
  }
  return explained_by(std::move(run), target, plain(std::move(verdict)));
}

Result<Explained> explain_published(const RunInput& input, const std::string& target,
                                    const Caller& caller) {
  CORDON_TRY(rule, parse_publish_rule(target));
  CORDON_TRY(run, judge_question(input, caller, std::vector<std::string>()));
  Verdict verdict = decide_publish(run.clamped.effective().net, rule);
  if (!verdict.allowed) {
    const auto publishes = [&](const RunInput& changed) -> Result<Verdict> {
      CORDON_TRY(again, judge_question(changed, caller, std::vector<std::string>()));
      return decide_publish(again.clamped.effective().net, rule);
    };
    advise_publish(input, rule, publishes, verdict);
  }
  return explained_by(std::move(run), target, plain(std::move(verdict)));
}

Result<Explained> explain_request(const RunInput& input, const std::string& target,
                                  const Caller& caller) {
  const std::size_t space = std::min(target.find(' '), target.size());
  CORDON_TRY(request, parse_asked_request(
                          std::string_view(target).substr(0, space),
                          std::string_view(target).substr(std::min(space + 1, target.size()))));
  CORDON_TRY(run, judge_question(input, caller, std::vector<std::string>()));
  const Effective& effective = run.clamped.effective();
  Verdict verdict = decide_request(effective.net, request);
  const HttpRule* rule = find_http_rule(effective.net, request.endpoint);
  if (verdict.allowed && rule != nullptr) {
    const std::vector<std::string> budgets = budgets_of(effective, *rule);
    for (const std::string& budget : budgets) {
      verdict.reason += (&budget == &budgets.front() ? "; a run has " : ", ") + budget;
    }
  }
  if (!verdict.allowed) {
    const auto sends = [&](const RunInput& changed) -> Result<Verdict> {
      CORDON_TRY(again, judge_question(changed, caller, std::vector<std::string>()));
      return decide_request(again.clamped.effective().net, request);
    };
    advise_request(input, request.endpoint, {request.method, request.path.strict}, sends, verdict);
  }
  return explained_by(std::move(run), target, plain(std::move(verdict)));
}

// A run of root's is the run of whoever owns what it may write, or is refused for them.
std::optional<Verdict> refused_for_owner(const RunInput& input, const Caller& caller) {
  JudgedPlaces nothing;
  nothing.asked.emplace();
  const auto judgement = judge_policy(input.policy, input.ceilings, caller, nothing);
  if (!judgement || caller.uid != 0) return std::nullopt;
  const auto owner = owner_to_run_as(judgement->clamped.effective().write, caller,
                                     identity_mapping(BackendKind::Native));
  if (owner) return std::nullopt;
  return Verdict{false, "owner", message(owner.error()), owner.error().hint, HintRule::Absent};
}

// The question about a file, and what has to be looked at for it.
struct Way {
  AskedPath asked;
  std::vector<std::string> links;  // that are passed on the way to it
};

Way way_to(Access access, const std::string& spelled, const Canonical& place) {
  Way way{{access, place.path, place.kind, std::vector<std::string>{place.path}}, {}};
  PathTrace trace;
  for (const PassedPlace* passed : trace.to(spelled).passed) {
    if (!passed->info.symlink) continue;
    way.links.push_back(passed->path);
    way.asked.ways->push_back(passed->path);
  }
  const auto seen = inspect_path(place.path);
  if (seen && seen->kind == FileKind::Regular && seen->links > 1) way.asked.ways.reset();
  return way;
}

// A link that is not there inside: the name leads nowhere then, or stays where it is, if the place
// is the sandbox's own.
const std::string* hidden_link(const JudgedRun& run, const Way& way) {
  const auto hides = [&](const std::string& link) {
    const Shown shown = view_of(run.plan, link).shown;
    return shown != Shown::Host && shown != Shown::Staged && shown != Shown::Copy &&
           shown != Shown::Made;
  };
  const auto found = std::ranges::find_if(way.links, hides);
  return found == way.links.end() ? nullptr : &*found;
}

// What a write under the name `spelled` makes in a private place: there the link is not, and what
// it is called can be made anew. Empty: nothing.
std::string private_name(const JudgedRun& run, const std::string& link,
                         const std::string& spelled) {
  const Shown shown = view_of(run.plan, link).shown;
  if (shown != Shown::Private && shown != Shown::Kept) return {};
  PathTrace trace;
  for (std::string_view part = spelled; part != "/"; part = parent(part)) {
    const std::string above = trace.to(std::string(parent(part))).end;
    if (join(above, basename(part)) == link) return link + spelled.substr(part.size());
  }
  return {};
}

// The name has to lead there inside as it does outside.
void check_links(const JudgedRun& run, const Way& way, AccessAnswer& answer) {
  const std::string* link = hidden_link(run, way);
  if (!answer.inside || link == nullptr) return;
  answer = {{false, answer.verdict.rule,
             "the link " + quote(*link) + " is not there inside, and what it leads to is",
             "use the name " + quote(way.asked.path)},
            Settled::Absent,
            false,
            {}};
}

// Also where the answer is of a file that is of the sandbox's own.
void tell_owner(const JudgedRun& run, Access access, Verdict& verdict) {
  if (access != Access::Write || !verdict.allowed || !run.owner) return;
  verdict.reason += "; the command runs as uid " + std::to_string(run.owner->uid) + ", gid " +
                    std::to_string(run.owner->gid) + ", who owns what it may write";
}

Result<Explained> explain_file(const RunInput& input, Access access, const std::string& target,
                               const Caller& caller) {
  CORDON_TRY(spelled, spell_absolute(target, caller.cwd, caller));
  const auto place = canonicalize(target, caller.cwd, caller);
  const bool closed = !place && place.error().error_number == EACCES;
  Way way{{access, spelled, FileKind::Absent, std::vector<std::string>{spelled}}, {}};
  if (place) way = way_to(access, spelled, *place);
  auto judged = judge_question(input, caller, way.asked.ways);
  if (!judged) {
    auto refused = refused_for_owner(input, caller);
    if (!refused) return fail(std::move(judged).error());
    return Explained{way.asked.path, plain(*std::move(refused)), {}, {}};
  }
  JudgedRun run = std::move(*judged);
  // Where it leads outside does not matter where inside there is nothing of it.
  const Shown by_name = view_of(run.plan, spelled).shown;
  const bool hidden = closed && (by_name == Shown::Private || by_name == Shown::Kept);
  const bool own =
      !has_dotdot(spelled) && (hidden || is_of_sandbox(run.clamped, run.survey.facts, spelled));
  if (own) {
    way = {{access, spelled, FileKind::Absent, std::vector<std::string>{spelled}}, {}};
  } else if (closed) {
    // Where it leads is unknown, and no sandbox gives more. A secret of the machine is one whoever
    // asks.
    Verdict verdict{false,
                    "permissions",
                    "the caller may not reach it outside, and a sandbox permits no more than that",
                    {}};
    if (!machine_secret(spelled).empty()) {
      Verdict masked = decide(run.clamped, run.survey.facts, run.caller, access, spelled);
      if (!masked.allowed) verdict = std::move(masked);
    }
    return explained_by(std::move(run), spelled, plain(std::move(verdict)));
  } else if (!place) {
    return fail(place.error());
  }
  if (const std::string* link = hidden_link(run, way); link != nullptr && access == Access::Write) {
    const std::string name = private_name(run, *link, spelled);
    if (!name.empty()) way = {{access, name, FileKind::Absent, std::vector<std::string>{name}}, {}};
  }
  CORDON_TRY(answer, access_to(run, access, way.asked.path));
  check_links(run, way, answer);
  CORDON_CHECK(advise(input, caller, way.asked, answer));
  tell_owner(run, access, answer.verdict);
  return explained_by(std::move(run), way.asked.path, std::move(answer));
}

Result<Explained> explain_question(const RunInput& input, const Question& question,
                                   const Caller& caller) {
  switch (question.access) {
    case Question::Access::Read:
      return explain_file(input, Access::Read, question.target, caller);
    case Question::Access::Write:
      return explain_file(input, Access::Write, question.target, caller);
    case Question::Access::Execute:
      return explain_file(input, Access::Execute, question.target, caller);
    case Question::Access::Connect:
      return explain_connection(input, question.target, caller);
    case Question::Access::Publish:
      return explain_published(input, question.target, caller);
    case Question::Access::Request:
      return explain_request(input, question.target, caller);
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
  node.set("inside", explained.inside);
  node.set("then", explained.then.empty() ? Node() : Node(explained.then));
  node.set("backend", name_of(explained.choice.backend));
  node.set("lost", loss_list(explained.lost));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

std::string explain_text(const Explanation& explained) {
  std::string text = explained.allowed ? "yes: " : "no: ";
  text.append(name_of(explained.access)).append(" ").append(quote(explained.target)).append("\n");
  text.append("rule: ").append(sanitize(explained.rule)).append("\n");
  const bool hopeless = !explained.allowed && explained.change.empty();
  // The reason is told once: of what cannot be changed it is why not.
  text.append(hopeless ? "change: nothing can grant this, because " : "because: ");
  text.append(sanitize(explained.reason)).append("\n");
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
    case Question::Access::Request:
      return "request";
  }
  return "";
}

Result<Question::Access> parse_access(std::string_view word) {
  std::vector<std::string_view> words;
  for (const Question::Access access : kAccesses) {
    if (word == name_of(access)) return access;
    words.push_back(name_of(access));
  }
  Error error = usage_error("unknown access " + quote(word),
                            "write read, write, exec, connect, publish or request");
  if (const auto near = nearest(word, words)) error.hint = "did you mean " + *near + "?";
  return fail(std::move(error));
}

Result<Explanation> explain_access(const RunInput& input, const Question& question,
                                   const Caller& caller) {
  RunInput asked = input;
  // Any command is as good as another: what one may do is asked, and not whether it is there.
  if (asked.argv.empty()) asked.argv = {"true"};
  CORDON_TRY(found, explain_question(asked, question, caller));
  Explanation explained{question.access,
                        std::move(found.target),
                        found.answer.verdict.allowed,
                        std::move(found.answer.verdict.rule),
                        std::move(found.answer.verdict.reason),
                        std::move(found.answer.verdict.change),
                        found.answer.inside,
                        std::string(found.answer.then),
                        std::move(found.choice),
                        std::move(found.lost),
                        {},
                        {}};
  explained.text = explain_text(explained);
  explained.json = explain_json(explained);
  return explained;
}

}  // namespace cordon
