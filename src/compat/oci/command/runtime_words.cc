#include "compat/oci/command/runtime_words.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace cordon::oci {
namespace {

constexpr std::array<std::pair<std::string_view, CommandUse>, 17> kCommands{
    {{"create", CommandUse::Start},
     {"run", CommandUse::Start},
     {"exec", CommandUse::Exec},
     {"update", CommandUse::Update},
     {"delete", CommandUse::Delete},
     {"start", CommandUse::Pass},
     {"state", CommandUse::Pass},
     {"kill", CommandUse::Pass},
     {"list", CommandUse::Pass},
     {"ps", CommandUse::Pass},
     {"pause", CommandUse::Pass},
     {"resume", CommandUse::Pass},
     {"events", CommandUse::Pass},
     {"features", CommandUse::Pass},
     {"spec", CommandUse::Pass},
     {"checkpoint", CommandUse::Refuse},
     {"restore", CommandUse::Refuse}}};

enum class Takes { Nothing, Value };

struct KnownOption {
  std::string_view command;  // "create" stands for run as well
  std::string_view name;
  std::string_view letter;
  Takes takes;
};

constexpr KnownOption kOptions[] = {
    {"create", "bundle", "b", Takes::Value},
    {"create", "config", "f", Takes::Value},
    {"create", "console-socket", "", Takes::Value},
    {"create", "pid-file", "", Takes::Value},
    {"create", "preserve-fds", "", Takes::Value},
    {"create", "detach", "d", Takes::Nothing},
    {"create", "keep", "", Takes::Nothing},
    {"create", "no-subreaper", "", Takes::Nothing},
    {"exec", "process", "p", Takes::Value},
    {"exec", "console-socket", "", Takes::Value},
    {"exec", "pid-file", "", Takes::Value},
    {"exec", "preserve-fds", "", Takes::Value},
    {"exec", "cwd", "", Takes::Value},
    {"exec", "env", "e", Takes::Value},
    {"exec", "user", "u", Takes::Value},
    {"exec", "additional-gids", "g", Takes::Value},
    {"exec", "process-label", "", Takes::Value},
    {"exec", "apparmor", "", Takes::Value},
    {"exec", "tty", "t", Takes::Nothing},
    {"exec", "detach", "d", Takes::Nothing},
    {"exec", "no-new-privs", "", Takes::Nothing},
    {"exec", "ignore-paused", "", Takes::Nothing},
    {"update", "resources", "r", Takes::Value},
};

// Known, and more than anybody may ask for.
struct RefusedOption {
  std::string_view name;
  std::string_view why;
};
constexpr RefusedOption kRefusedOptions[] = {
    {"no-pivot", "leaves the container a way back to the host's root"},
    {"no-new-keyring", "gives the container the engine's keys"},
    {"cap", "gives a command more than its container has"},
    {"c", "gives a command more than its container has"},
    {"cgroup", "starts a command outside of its container's limits"},
};

std::string_view table_of(std::string_view command) {
  return command == "run" ? "create" : command;
}

const KnownOption* find_option(std::string_view command, std::string_view name) {
  const auto found = std::ranges::find_if(kOptions, [&](const KnownOption& one) {
    return one.command == table_of(command) && (one.name == name || one.letter == name);
  });
  return found == std::end(kOptions) ? nullptr : &*found;
}

}  // namespace

std::optional<CommandUse> use_of(std::string_view command) {
  const auto found =
      std::ranges::find(kCommands, command, [](const auto& one) { return one.first; });
  return found == kCommands.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> CommandWords::value(std::string_view name) const {
  const auto found = std::find_if(options.rbegin(), options.rend(),
                                  [&](const GivenOption& one) { return one.name == name; });
  return found == options.rend() ? std::nullopt : std::optional(found->value);
}

bool CommandWords::has(std::string_view name) const {
  return std::ranges::any_of(options, [&](const GivenOption& one) { return one.name == name; });
}

void CommandWords::replace(std::string_view name, const std::string& value) {
  std::erase_if(options, [&](const GivenOption& one) { return one.name == name; });
  if (!value.empty()) options.push_back({std::string(name), value, true});
}

std::vector<std::string> CommandWords::words() const {
  std::vector<std::string> all{command};
  for (const GivenOption& one : options) {
    all.push_back("--" + one.name);
    if (one.takes_value) all.push_back(one.value);
  }
  all.insert(all.end(), operands.begin(), operands.end());
  return all;
}

Result<CommandWords> read_command(std::span<const std::string_view> words) {
  CommandWords read;
  read.command = std::string(words.front());
  std::size_t next = 1;
  for (; next < words.size() && words[next].size() > 1 && words[next].front() == '-'; ++next) {
    std::string_view name = words[next];
    if (name == "--") {
      ++next;
      break;
    }
    name.remove_prefix(name.starts_with("--") ? 2 : 1);
    const std::size_t equals = name.find('=');
    const std::string_view bare = name.substr(0, equals);
    for (const RefusedOption& refused : kRefusedOptions) {
      if (bare != refused.name) continue;
      return fail(policy_error("the option " + quote(words[next]) + " of " + read.command + " " +
                                   std::string(refused.why),
                               "let the engine leave it out"));
    }
    const KnownOption* known = find_option(read.command, bare);
    if (known == nullptr) {
      return fail(usage_error("the option " + quote(words[next]) + " of " + read.command +
                                  " is one that Cordon does not judge",
                              "let the engine leave it out"));
    }
    GivenOption one{std::string(known->name), {}, known->takes == Takes::Value};
    if (one.takes_value) {
      if (equals != std::string_view::npos) {
        one.value = std::string(name.substr(equals + 1));
      } else if (++next < words.size()) {
        one.value = std::string(words[next]);
      } else {
        return fail(
            usage_error("the option --" + one.name + " of " + read.command + " has no value",
                        "write one behind it"));
      }
    } else if (equals != std::string_view::npos) {
      if (name.substr(equals + 1) == "false") continue;
      if (name.substr(equals + 1) != "true") {
        return fail(usage_error("the option --" + one.name + " takes true or false", "write one"));
      }
    }
    read.options.push_back(std::move(one));
  }
  for (; next < words.size(); ++next) read.operands.emplace_back(words[next]);
  return read;
}

}  // namespace cordon::oci
