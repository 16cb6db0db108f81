#include <unistd.h>

#include "base/path.h"
#include "base/text.h"
#include "config/policy_document.h"
#include "config/schema.h"
#include "cordon/policy.h"
#include "faces/cli/console.h"
#include "faces/cli/policy_options.h"
#include "faces/cli/verbs.h"
#include "host/resolve.h"
#include "policy/agents.h"
#include "run/answers.h"
#include "run/policy_source.h"

namespace cordon {
namespace {

DocumentRole role_of(const std::string& file) {
  const std::string_view name = basename(file);
  const bool ceiling = name == "ceiling.toml" || name == "ceiling.json";
  return ceiling ? DocumentRole::Ceiling : DocumentRole::Policy;
}

// What the decoder lets pass, and no run is given.
Result<void> refuse_faults(const std::string& file) {
  std::vector<Error> faults = faults_of_file(file, role_of(file));
  if (faults.empty()) return {};
  return fail(std::move(faults.front()));
}

Result<std::string> checked_file(const Arguments& arguments) {
  if (arguments.operands.size() != 1) {
    return fail(usage_error("name one file", "cordon policy check [--json] FILE"));
  }
  const std::string file(arguments.operands.front());
  if (role_of(file) == DocumentRole::Ceiling) {
    CORDON_TRY(ceiling, Ceiling::from_file(file));
    CORDON_CHECK(refuse_faults(file));
    say_dangers(ceiling.policy.net.sockets);
    return std::string("ceiling");
  }
  CORDON_TRY(policy, Policy::from_file(file));
  CORDON_CHECK(refuse_faults(file));
  say_dangers(policy.net.sockets);
  return std::string("policy");
}

// The first is the one that a run would be refused with.
std::vector<Error> errors_of(const Result<std::string>& checked, const Arguments& arguments) {
  if (checked) return {};
  if (arguments.operands.size() != 1 || !checked.error().place) return {checked.error()};
  const std::string file(arguments.operands.front());
  std::vector<Error> errors = faults_of_file(file, role_of(file));
  return errors.empty() ? std::vector<Error>{checked.error()} : errors;
}

Node place_object(const Error& error) {
  if (!error.place) return {};
  Node place{NodeMap{}};
  place.set("file", error.place->file);
  place.set("line", std::uint64_t{error.place->line});
  place.set("column", std::uint64_t{error.place->column});
  return place;
}

std::string check_json(const Result<std::string>& checked, const std::vector<Error>& errors) {
  Node node{NodeMap{}};
  node.set("schema", "cordon.check/1");
  node.set("valid", checked.has_value());
  node.set("role", checked ? Node(*checked) : Node());
  node.set("place", checked ? Node() : place_object(checked.error()));
  node.set("error", checked ? Node() : error_object(checked.error()));
  NodeList list;
  for (const Error& error : errors) {
    list.push_back(error_object(error));
    list.back().set("place", place_object(error));
  }
  node.set("errors", Node(std::move(list)));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

}  // namespace

int verb_policy_check(const Arguments& arguments) {
  const auto checked = checked_file(arguments);
  const std::vector<Error> errors = errors_of(checked, arguments);
  for (const Error& error : errors) say_error(error);
  if (arguments.has(FlagId::Json)) {
    if (!say_answer(check_json(checked, errors))) return kAnswerError;
  } else if (checked) {
    const std::string file = sanitize(arguments.operands.front());
    if (!say_answer(file + ": a valid " + *checked + "\n")) return kAnswerError;
  }
  return checked ? kAnswerYes : kAnswerError;
}

namespace {

// A reader at a terminal gets long lists over several lines; the document is the same.
bool say_document(const Arguments& arguments, const std::string& text) {
  const auto columns = columns_of(STDOUT_FILENO);
  const bool fits = !columns || arguments.has(FlagId::Json);
  return say_answer(fits ? text : wrapped_lists(text, *columns));
}

Result<ClampAnswer> asked_clamp(const Arguments& arguments) {
  CORDON_TRY(caller, identify_caller());
  CORDON_TRY(asked, asked_policy(arguments, caller));
  RunInput input;
  input.policy = std::move(asked.policy);
  input.ceilings = std::move(asked.ceilings);
  return clamp_answer(input, caller);
}

}  // namespace

int verb_policy_clamp(const Arguments& arguments) {
  const auto answer = asked_clamp(arguments);
  if (!answer) {
    say_error(answer.error());
    return kAnswerError;
  }
  return say_document(arguments, arguments.has(FlagId::Json) ? answer->json : answer->text)
             ? kAnswerYes
             : kAnswerError;
}

int verb_policy_schema(const Arguments& arguments) {
  const std::string_view which =
      arguments.operands.empty() ? std::string_view("policy") : arguments.operands.front();
  const auto answer = schema_called(which);
  if (!answer || arguments.operands.size() > 1) {
    say_error(usage_error("no schema is called " + quote(which), "write one of " + schema_names()));
    return kAnswerError;
  }
  return say_answer(*answer) ? kAnswerYes : kAnswerError;
}

namespace {

// Why an agent's preset grants what it does.
std::string reasons(const Policy& policy) {
  const AgentNeeds* agent = find_agent(policy.agent.name);
  if (agent == nullptr) return {};
  std::string text = "\n";
  for (const AgentHost& host : agent->hosts) {
    text.append("# ").append(host.rule).append(": ").append(host.reason).append("\n");
  }
  for (const std::string_view name : agent->credentials) {
    text.append("# ").append(name).append(": may hold the agent's key; the first with a value");
    text.append(agent->keys.empty() ? "\n" : ", which is added outside\n");
  }
  return text;
}

Result<std::string> shown_policy(const Arguments& arguments) {
  if (arguments.operands.size() > 1) {
    return fail(usage_error("more than one policy was given",
                            "show one at a time: cordon policy show POLICY"));
  }
  CORDON_TRY(caller, identify_caller());
  const std::string word(arguments.operands.empty() ? "workspace" : arguments.operands.front());
  CORDON_TRY(policy, load_policy(word, caller));
  if (arguments.has(FlagId::Json)) {
    return write_json(encode_policy(policy), JsonStyle::Pretty) + "\n";
  }
  return policy.toml() + reasons(policy);
}

}  // namespace

int verb_policy_show(const Arguments& arguments) {
  const auto text = shown_policy(arguments);
  if (!text) {
    say_error(text.error());
    return kAnswerError;
  }
  return say_document(arguments, *text) ? kAnswerYes : kAnswerError;
}

}  // namespace cordon
