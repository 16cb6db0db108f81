#include <array>
#include <set>

#include "config/decode.h"
#include "config/document_text.h"
#include "policy/environment.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 2> kEnvKeys{"pass", "set"};

struct Assignment {
  std::string name;
  std::string value;
  const Node* node = nullptr;
};

std::optional<Error> name_fault(std::string_view name) {
  if (!is_valid_variable_name(name)) {
    return policy_error(shown(name) + " is not a variable name",
                        "use letters, digits and \"_\", not starting with a digit");
  }
  if (is_loader_variable(name)) {
    return policy_error(shown(name) + " is refused: it makes the loader run foreign code",
                        "remove it");
  }
  return std::nullopt;
}

Result<std::vector<PlacedText>> decode_pass(const Section& env) {
  CORDON_TRY(names, env.texts("pass"));
  for (const PlacedText& name : names) {
    if (auto fault = name_fault(*name.text)) return fail(placed(env, *name.node, *fault));
  }
  return names;
}

Result<std::vector<Assignment>> decode_set(const Section& env) {
  std::vector<Assignment> assignments;
  const Node* set = env.find("set");
  if (set == nullptr) return assignments;
  const NodeMap* members = set->map();
  if (members == nullptr) {
    return fail(env.error_at(
        *set, env.title("set") + " must be a table of strings, not " + std::string(kind_name(*set)),
        "write set = { NAME = \"value\" }"));
  }
  for (const auto& [name, value] : *members) {
    if (auto fault = name_fault(name)) {
      return fail(env.error_at_key(value, fault->what, fault->hint));
    }
    const std::string* text = value.text();
    if (text == nullptr) {
      return fail(env.error_at(
          value,
          "the value of " + shown(name) + " must be a string, not " + std::string(kind_name(value)),
          "put it in quotes"));
    }
    if (text->find('\0') != std::string::npos) {
      return fail(env.error_at(value, "the value of " + shown(name) + " holds a NUL byte"));
    }
    assignments.push_back(Assignment{name, *text, &value});
  }
  return assignments;
}

}  // namespace

Result<void> decode_env(const Section& document, EnvRules& env) {
  CORDON_TRY(section, document.member("env", kEnvKeys));
  CORDON_TRY(pass, decode_pass(section));
  CORDON_TRY(set, decode_set(section));
  std::set<std::string_view> passed;
  for (const PlacedText& name : pass) passed.insert(*name.text);
  std::set<std::string_view> assigned;
  for (const Assignment& assignment : set) {
    if (passed.contains(assignment.name)) {
      return fail(section.error_at_key(*assignment.node,
                                       shown(assignment.name) + " is both passed and set in [env]",
                                       "keep it in \"pass\" or in \"set\""));
    }
    assigned.insert(assignment.name);
  }
  // A document overrides what its preset says of the same variable, either way.
  std::erase_if(env.pass, [&](const std::string& name) { return assigned.contains(name); });
  for (const PlacedText& name : pass) {
    env.set.erase(*name.text);
    env.pass.push_back(*name.text);
  }
  for (const Assignment& assignment : set) env.set[assignment.name] = assignment.value;
  return {};
}

}  // namespace cordon
