#include "config/decode.h"

#include <algorithm>
#include <array>
#include <set>

#include "config/node.h"
#include "config/section.h"
#include "policy/agents.h"
#include "policy/environment.h"
#include "policy/protected_names.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 2> kAgentKeys{"name", "share_login"};

Result<void> decode_name(const Section& section, std::string& name) {
  CORDON_TRY(word, section.text("name"));
  if (!word) return {};
  std::vector<std::string_view> names;
  for (const AgentNeeds& agent : known_agents()) names.push_back(agent.name);
  if (find_agent(*word->text) == nullptr) {
    std::string hint = suggestion(*word->text, names);
    if (hint.empty()) {
      hint = "the agents are";
      for (const std::string_view known : names) hint.append(" ").append(known);
    }
    return fail(section.error_at(*word->node, "unknown agent " + shown(*word->text), hint));
  }
  name = *word->text;
  return {};
}

}  // namespace

Result<void> decode_agent(const Section& document, DocumentRole role, AgentRules& agent) {
  CORDON_TRY(section, document.member("agent", kAgentKeys));
  CORDON_CHECK(decode_name(section, agent.name));
  CORDON_TRY(share, section.flag("share_login"));
  if (share) {
    agent.share_login =
        *share ? std::optional(hand_over_the_agents_login()) : std::optional<SharedLogin>();
  }
  if (!agent.share_login || role == DocumentRole::Ceiling) return {};
  const Node* place = section.find("share_login");
  if (place == nullptr) place = section.find("name");
  const AgentNeeds* known = find_agent(agent.name);
  if (known == nullptr) {
    return fail(section.error_at_key(*place, "\"share_login\" in [agent] needs an agent",
                                     "write extends = \"agent:claude\", or name = \"claude\""));
  }
  if (known->login.empty()) {
    return fail(section.error_at_key(
        *place, "the agent " + shown(agent.name) + " has no login file that could be shared",
        "give it its variable: " + std::string(known->credentials.front())));
  }
  return {};
}

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

namespace {

constexpr std::array<std::string_view, 9> kFsKeys{
    "read", "write", "deny", "scratch", "home", "caches", "trust_tracked", "mode", "stage"};
constexpr std::array kHomes{HomeMode::None, HomeMode::Private, HomeMode::Persistent};
constexpr std::array kModes{WriteMode::Live, WriteMode::Staged};
constexpr std::array kEnds{StageEnd::Auto, StageEnd::Review};

// `what` is what such a word is, for the message; `words` says how to write one.
template <typename Value, std::size_t N>
Result<void> decode_word(const Section& fs, std::string_view key, const std::array<Value, N>& known,
                         std::string_view what, std::string_view words, Value& target) {
  CORDON_TRY(word, fs.text(key));
  if (!word) return {};
  std::array<std::string_view, N> names{};
  for (std::size_t i = 0; i < N; ++i) {
    names[i] = name_of(known[i]);
    if (*word->text != names[i]) continue;
    target = known[i];
    return {};
  }
  std::string hint = suggestion(*word->text, names);
  if (hint.empty()) hint = words;
  return fail(fs.error_at(*word->node, shown(*word->text) + " is not " + std::string(what),
                          std::move(hint)));
}

}  // namespace

Error placed(const Section& section, const Node& value, Error error) {
  if (!error.place) error.place = Place{section.file(), value.line, value.column};
  return error;
}

Result<void> decode_fs(const Section& document, const std::string& base, FsRules& fs) {
  CORDON_TRY(section, document.member("fs", kFsKeys));
  CORDON_CHECK(append_paths(section, "read", PathUse::Read, base, fs.read));
  CORDON_CHECK(append_paths(section, "write", PathUse::Write, base, fs.write));
  CORDON_CHECK(append_paths(section, "deny", PathUse::Deny, base, fs.deny));
  CORDON_TRY(scratch, section.size("scratch"));
  if (scratch) fs.scratch = scratch;
  CORDON_CHECK(decode_word(section, "home", kHomes, "a kind of home",
                           "write \"private\", \"persistent\" or \"none\"", fs.home));
  CORDON_TRY(caches, section.flag("caches"));
  if (caches) fs.caches = *caches;
  CORDON_TRY(trust_tracked, section.flag("trust_tracked"));
  if (trust_tracked) fs.trust_tracked = *trust_tracked;
  CORDON_CHECK(decode_word(section, "mode", kModes, "a way to write",
                           "write \"live\" or \"staged\"", fs.mode));
  CORDON_CHECK(decode_word(section, "stage", kEnds, "an end of a stage",
                           "write \"auto\" or \"review\"", fs.stage));
  return {};
}

namespace {

using Number = std::optional<std::uint64_t>;

struct LimitKey {
  std::string_view name;
  Number Limits::*field;
  Result<Number> (Section::*read)(std::string_view) const;
};

constexpr std::array<LimitKey, 13> kLimits{{
    {"wall", &Limits::wall_ms, &Section::duration},
    {"cpu", &Limits::cpu_ms, &Section::duration},
    {"memory", &Limits::memory, &Section::size},
    {"pids", &Limits::pids, &Section::count},
    {"cpus", &Limits::cpus_milli, &Section::thousandths},
    {"files", &Limits::files, &Section::count},
    {"file_size", &Limits::file_size, &Section::size},
    {"output", &Limits::output, &Section::size},
    {"output_total", &Limits::output_total, &Section::size},
    {"connections", &Limits::connections, &Section::count},
    {"sent", &Limits::sent, &Section::size},
    {"requests", &Limits::requests, &Section::count},
    {"request_traffic", &Limits::request_traffic, &Section::size},
}};

constexpr auto kLimitKeys = [] {
  std::array<std::string_view, kLimits.size()> names{};
  for (std::size_t i = 0; i < kLimits.size(); ++i) names[i] = kLimits[i].name;
  return names;
}();

}  // namespace

Result<void> decode_limits(const Section& document, Limits& limits) {
  CORDON_TRY(section, document.member("limits", kLimitKeys));
  for (const LimitKey& limit : kLimits) {
    CORDON_TRY(value, (section.*limit.read)(limit.name));
    if (value) limits.*limit.field = value;
  }
  return {};
}

Result<void> append_paths(const Section& section, std::string_view key, PathUse use,
                          const std::string& base, std::vector<PathRule>& rules) {
  CORDON_TRY(entries, section.texts(key));
  for (const PlacedText& entry : entries) {
    if (auto legal = check_path_entry(*entry.text, use); !legal) {
      return fail(placed(section, *entry.node, std::move(legal).error()));
    }
    rules.push_back(PathRule{*entry.text, base});
  }
  return {};
}

namespace {

constexpr std::array<std::string_view, 2> kProtectKeys{"add", "release"};
constexpr std::size_t kMostNames = 256;

// One component, or two.
bool is_name(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos)
    return is_name(text.substr(0, slash)) && is_name(text.substr(slash + 1)) &&
           text.find('/', slash + 1) == std::string_view::npos;
  return !text.empty() && text != "." && text != ".." && text.size() < 256 &&
         text.find_first_of("*?[\\~@") == std::string_view::npos;
}

Result<std::vector<PlacedText>> names(const Section& section, std::string_view key) {
  CORDON_TRY(words, section.texts(key));
  for (const PlacedText& word : words) {
    if (!is_name(*word.text))
      return fail(section.error_at(*word.node, shown(*word.text) + " is not a name",
                                   "write one name, or \"a/b\" for the name b directly below a"));
  }
  if (words.size() > kMostNames)
    return fail(section.error_at(*words.back().node, "more than 256 names in " + shown(key), ""));
  return words;
}

}  // namespace

Result<void> decode_protect(const Section& document, DocumentRole role, ProtectRules& protect) {
  CORDON_TRY(section, document.member("protect", kProtectKeys));
  const Node* release = section.find("release");
  if (release != nullptr && role == DocumentRole::Policy)
    return fail(section.error_at_key(*release, "\"release\" in [protect] is for ceilings only",
                                     "move it to the operator's ceiling"));
  CORDON_TRY(added, names(section, "add"));
  for (const PlacedText& word : added) protect.add.push_back(*word.text);
  CORDON_TRY(released, names(section, "release"));
  for (const PlacedText& word : released) {
    if (!can_be_released(*word.text))
      return fail(section.error_at(*word.node, shown(*word.text) + " cannot be released",
                                   "only a name of the table can, and no part of .git"));
    protect.release.push_back(*word.text);
  }
  return {};
}

namespace {

constexpr std::array<std::string_view, 3> kRequireKeys{"layers", "accept_missing", "backends"};
constexpr std::array<Layer, 5> kLayers{Layer::Namespaces, Layer::Landlock, Layer::Seccomp,
                                       Layer::Capabilities, Layer::Cgroup};

Result<Layer> decode_layer(const Section& require, const PlacedText& word) {
  std::vector<std::string_view> names;
  for (const Layer layer : kLayers) {
    if (*word.text == name_of(layer)) return layer;
    names.push_back(name_of(layer));
  }
  std::string hint = suggestion(*word.text, names);
  if (hint.empty()) {
    hint = "the layers are";
    for (const std::string_view name : names) hint.append(" ").append(name);
  }
  return fail(require.error_at(*word.node, "unknown layer " + shown(*word.text), std::move(hint)));
}

Result<std::vector<Layer>> decode_layers(const Section& require, std::string_view key) {
  std::vector<Layer> layers;
  CORDON_TRY(words, require.texts(key));
  for (const PlacedText& word : words) {
    CORDON_TRY(layer, decode_layer(require, word));
    layers.push_back(layer);
  }
  return layers;
}

Result<BackendKind> decode_backend(const Section& require, const PlacedText& word) {
  if (const auto kind = backend_called(*word.text)) return *kind;
  std::vector<std::string_view> names;
  for (const BackendKind kind : kBackendKinds) names.push_back(name_of(kind));
  std::string hint = suggestion(*word.text, names);
  if (hint.empty()) hint = "the backends are " + known_backends();
  return fail(
      require.error_at(*word.node, "unknown backend " + shown(*word.text), std::move(hint)));
}

Result<void> decode_backends(const Section& require, RequireRules& rules) {
  const Node* list = require.find("backends");
  if (list == nullptr) return {};
  CORDON_TRY(words, require.texts("backends"));
  std::vector<BackendKind> kinds;
  for (const PlacedText& word : words) {
    CORDON_TRY(kind, decode_backend(require, word));
    kinds.push_back(kind);
  }
  if (kinds.empty()) {
    return fail(require.error_at_key(*list, "\"backends\" in [require] names none",
                                     "name those that may be used, or leave the key out"));
  }
  rules.backends = std::move(kinds);
  return {};
}

Error for_ceilings_only(const Section& section, const Node& key, std::string_view name) {
  return section.error_at_key(key, shown(name) + " in [require] is for ceilings only",
                              "move it to the operator's ceiling");
}

template <typename Layers>
bool holds(const Layers& layers, Layer layer) {
  return std::find(layers.begin(), layers.end(), layer) != layers.end();
}

// Going without every layer would be an unsandboxed mode, which does not exist.
Result<void> check_accepted(const Section& section, const RequireRules& require) {
  if (require.accept_missing.empty()) return {};
  const Node& list = *section.find("accept_missing");
  for (const Layer layer : require.accept_missing) {
    if (holds(require.layers, layer)) {
      return fail(section.error_at_key(
          list, shown(name_of(layer)) + " is both required and accepted missing",
          "keep it in one of the two lists"));
    }
  }
  const auto accepted = [&](Layer layer) { return holds(require.accept_missing, layer); };
  if (std::all_of(kLayers.begin(), kLayers.end(), accepted)) {
    return fail(section.error_at_key(list, "\"accept_missing\" in [require] names every layer",
                                     "at least one layer must hold"));
  }
  return {};
}

}  // namespace

Result<void> decode_require(const Section& document, DocumentRole role, RequireRules& require) {
  CORDON_TRY(section, document.member("require", kRequireKeys));
  for (const char* key : {"accept_missing", "backends"}) {
    const Node* node = section.find(key);
    if (node == nullptr || role != DocumentRole::Policy) continue;
    return fail(for_ceilings_only(section, *node, key));
  }
  CORDON_CHECK(decode_backends(section, require));
  CORDON_TRY(layers, decode_layers(section, "layers"));
  require.layers.insert(require.layers.end(), layers.begin(), layers.end());
  CORDON_TRY(missing, decode_layers(section, "accept_missing"));
  for (const Layer layer : missing) require.accept_missing.push_back(run_without(layer));
  return check_accepted(section, require);
}

}  // namespace cordon
