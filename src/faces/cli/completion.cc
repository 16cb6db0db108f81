#include "faces/cli/completion.h"

#include "base/text.h"
#include "faces/cli/console.h"
#include "faces/cli/flag_table.h"
#include "faces/cli/verbs.h"
#include "policy/agents.h"
#include "policy/presets.h"

namespace cordon {
namespace {

constexpr std::string_view kPrologue =
    R"sh(# bash completion for cordon; made by cordon help --format=bash

_cordon_words() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

_cordon_paths() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$1" -- "$2")
}
)sh";

// A name that a shell would carry out is nobody's policy. Bash takes words apart at colons, so
// agent:claude is put together again, and of what is offered the part before the colon is cut off.
constexpr std::string_view kEpilogue = R"sh(
_cordon_own_policies() {
  local file
  for file in "${XDG_CONFIG_HOME:-$HOME/.config}"/cordon/policies/*.toml; do
    file=${file##*/}
    [[ $file =~ ^[A-Za-z0-9._-]+$ ]] && printf ' %s' "${file%.toml}"
  done
}

_cordon_complete() {
  local verb=${words[1]} first=2 flags="" valued="" operands="" subverbs=""
  if ((last == 1)); then
    _cordon_words "$_cordon_verbs" "$cur"
    return
  fi
  _cordon_table "$verb"
  if [[ -n $subverbs ]]; then
    if ((last == 2)); then
      _cordon_words "$subverbs" "$cur"
      return
    fi
    verb="$verb ${words[2]}" first=3
    _cordon_table "$verb"
  fi
  while ((first < last)); do
    case ${words[first]} in
      --) ((first++)); break ;;
      -*) [[ $valued == *" ${words[first]} "* ]] && ((first++)) ;;
      *) break ;;
    esac
    ((first++))
  done
  if ((first > last)); then
    _cordon_value "$prev" "$cur"
  elif ((first == last)) && [[ $cur == -* && $prev != -- ]]; then
    _cordon_words "$flags" "$cur"
  elif [[ $verb == run ]]; then
    if declare -F _command_offset >/dev/null; then
      _command_offset "${starts[first]}"
    elif ((first == last)); then
      _cordon_paths -c "$cur"
    else
      _cordon_paths -f "$cur"
    fi
  elif [[ -n $operands ]] && ((first == last)); then
    _cordon_words "$operands" "$cur"
  else
    _cordon_paths -f "$cur"
  fi
}

_cordon() {
  local -a words=() starts=()
  local at cur prev last
  COMPREPLY=()
  for ((at = 0; at <= COMP_CWORD; at++)); do
    if ((at > 1)) && [[ ${COMP_WORDS[at]} == :* || ${words[-1]} == *: ]]; then
      words[-1]+=${COMP_WORDS[at]}
    else
      words+=("${COMP_WORDS[at]}")
      starts+=("$at")
    fi
  done
  last=$((${#words[@]} - 1))
  cur=${words[last]} prev=${words[last - 1]}
  _cordon_complete
  if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
    COMPREPLY=("${COMPREPLY[@]#"${cur%"${cur##*:}"}"}")
  fi
}

complete -F _cordon cordon
)sh";

constexpr std::string_view kFishPolicies = R"sh(
function __cordon_own_policies
  set -l directory $HOME/.config
  set -q XDG_CONFIG_HOME; and set directory $XDG_CONFIG_HOME
  for file in $directory/cordon/policies/*.toml
    string replace -r '.*/(.*)\.toml$' '$1' -- $file
  end
end

)sh";

// The presets, those of the known agents included.
std::string policy_names() {
  std::string names;
  for (const std::string_view name : preset_names())
    names.append(names.empty() ? "" : " ").append(name);
  for (const AgentNeeds& agent : known_agents()) names.append(" agent:").append(agent.name);
  return names;
}

std::string bash_policies() { return policy_names() + "$(_cordon_own_policies)"; }

std::string words_of(std::span<const std::string_view> words) {
  std::string out;
  for (const std::string_view word : words) out.append(out.empty() ? "" : " ").append(word);
  return out;
}

std::string value_action(const Flag& flag) {
  switch (flag.kind) {
    case ValueKind::None:
    case ValueKind::Free:
    case ValueKind::OptionalChoice:
      return ":";
    case ValueKind::File:
    case ValueKind::Path:
      return "_cordon_paths -f \"$2\"";
    case ValueKind::Directory:
      return "_cordon_paths -d \"$2\"";
    case ValueKind::Policy:
      return "_cordon_words \"" + bash_policies() +
             "\" \"$2\"; ((${#COMPREPLY[@]})) || _cordon_paths -f \"$2\"";
    case ValueKind::Choice:
      return "_cordon_words \"" + words_of(flag.choices) + "\" \"$2\"";
    case ValueKind::Variable:
      return "mapfile -t COMPREPLY < <(compgen -v -- \"$2\")";
  }
  return ":";
}

bool takes_next_word(const Flag& flag) {
  return flag.kind != ValueKind::None && flag.kind != ValueKind::OptionalChoice;
}

// One case for each flag that takes a value; the same flag means the same in every verb.
std::string value_cases() {
  std::string out;
  std::string seen = " ";
  for (const Verb& verb : verbs()) {
    for (const FlagGroup& group : verb.groups) {
      for (const Flag& flag : group.flags) {
        const std::string key = " " + std::string(flag.name) + " ";
        if (!takes_next_word(flag) || seen.find(key) != std::string::npos) continue;
        seen.append(flag.name).append(" ");
        out.append("    ").append(flag.name).append(") ");
        out.append(value_action(flag)).append(" ;;\n");
      }
    }
  }
  return out;
}

std::string operand_words(const Verb& verb) {
  if (verb.name == "help") {
    std::string names;
    for (const Verb& other : verbs()) {
      if (other.name.find(' ') == std::string_view::npos) names.append(other.name).append(" ");
    }
    return names;
  }
  if (verb.operands.empty()) return {};
  const Operand& first = verb.operands.front();
  return first.kind == ValueKind::Policy ? bash_policies() : words_of(first.choices);
}

std::string subverbs(const Verb& verb) {
  std::string out;
  for (const Verb& other : verbs()) {
    if (!other.name.starts_with(std::string(verb.name) + " ")) continue;
    out.append(out.empty() ? "" : " ").append(other.name.substr(verb.name.size() + 1));
  }
  return out;
}

std::string table_case(const Verb& verb) {
  std::string flags;
  std::string valued(" ");
  for (const FlagGroup& group : verb.groups) {
    for (const Flag& flag : group.flags) {
      flags.append(flags.empty() ? "" : " ").append(flag.name);
      if (takes_next_word(flag)) valued.append(flag.name).append(" ");
    }
  }
  std::string out = "    \"" + std::string(verb.name) + "\")\n";
  out.append("      flags=\"").append(flags).append("\"\n");
  out.append("      valued=\"").append(valued).append("\"\n");
  out.append("      operands=\"").append(operand_words(verb)).append("\"\n");
  out.append("      subverbs=\"").append(subverbs(verb)).append("\" ;;\n");
  return out;
}

}  // namespace

std::string bash_completion() {
  std::string top;
  for (const Verb& verb : verbs()) {
    if (verb.name.find(' ') == std::string_view::npos) top.append(verb.name).append(" ");
  }
  for (const FlagGroup& group : top_level().groups) {
    for (const Flag& flag : group.flags) top.append(flag.name).append(" ");
  }
  top.pop_back();
  std::string out(kPrologue);
  out.append("\n_cordon_verbs=\"").append(top).append("\"\n");
  out.append("\n# Completes the value $2 of the flag $1.\n_cordon_value() {\n  case $1 in\n");
  out.append(value_cases()).append("  esac\n}\n");
  out.append("\n# Sets flags, valued, operands and subverbs of its caller.\n");
  out.append("# shellcheck disable=SC2034\n_cordon_table() {\n  case $1 in\n");
  for (const Verb& verb : verbs()) out.append(table_case(verb));
  out.append("  esac\n}\n");
  return out.append(kEpilogue);
}

namespace {

// Completions for zsh and fish.

std::string with_escapes(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out.append("'\\''");
      continue;
    }
    if (special.find(c) != std::string_view::npos) out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

std::string spaced(std::span<const std::string_view> words) {
  std::string out;
  for (const std::string_view word : words) out.append(out.empty() ? "" : " ").append(word);
  return out;
}

std::string zsh_action(ValueKind kind, std::span<const std::string_view> choices) {
  switch (kind) {
    case ValueKind::None:
    case ValueKind::Free:
      return "";
    case ValueKind::File:
    case ValueKind::Path:
      return "_files";
    case ValueKind::Directory:
      return "_files -/";
    case ValueKind::Policy:
      return "_cordon_policies";
    case ValueKind::Choice:
    case ValueKind::OptionalChoice:
      return "(" + spaced(choices) + ")";
    case ValueKind::Variable:
      return "_parameters -g \"*export*\"";
  }
  return "";
}

std::string zsh_flag(const Flag& flag) {
  constexpr std::string_view kSpecial = "[]:\\";
  std::string spec(flag.times == Times::Many ? "*" : "");
  const bool optional = flag.kind == ValueKind::OptionalChoice;
  spec.append(flag.name).append(optional ? "=-[" : "[");
  spec.append(with_escapes(flag.brief, kSpecial)).append("]");
  if (optional) {
    spec.append("::value:").append(zsh_action(flag.kind, flag.choices));
  } else if (flag.kind != ValueKind::None) {
    spec.append(":").append(with_escapes(flag.argument, kSpecial)).append(":");
    spec.append(zsh_action(flag.kind, flag.choices));
  }
  return "'" + spec + "'";
}

std::string zsh_case(const Verb& verb) {
  std::string out = "    '" + std::string(verb.name) + "')\n      _arguments -S";
  for (const FlagGroup& group : verb.groups) {
    for (const Flag& flag : group.flags) out.append(" \\\n        ").append(zsh_flag(flag));
  }
  if (verb.name == "run") {
    out.append(" \\\n        '(-)1:command:_command_names -e' \\\n        '*::argument:_normal'");
  } else {
    unsigned place = 0;
    for (const Operand& operand : verb.operands) {
      out.append(" \\\n        '").append(std::to_string(++place)).append(":");
      out.append(with_escapes(operand.name, "[]:\\")).append(":");
      out.append(zsh_action(operand.kind, operand.choices)).append("'");
    }
  }
  return out.append(" ;;\n");
}

std::string zsh_names(std::string_view prefix) {
  std::string out;
  for (const Verb& verb : verbs()) {
    if (!verb.name.starts_with(prefix)) continue;
    const std::string_view rest = verb.name.substr(prefix.size());
    if (rest.find(' ') != std::string_view::npos) continue;
    out.append(" '").append(rest).append(":").append(with_escapes(verb.brief, ":\\")).append("'");
  }
  return out;
}

std::string fish_value(const Flag& flag) {
  switch (flag.kind) {
    case ValueKind::None:
      return "";
    case ValueKind::Free:
    case ValueKind::Variable:
      return " -x";
    case ValueKind::File:
    case ValueKind::Path:
      return " -r -F";
    case ValueKind::Directory:
      return " -x -a '(__fish_complete_directories)'";
    case ValueKind::Policy:
      return " -r -F -a '" + policy_names() + " (__cordon_own_policies)'";
    case ValueKind::Choice:
      return " -x -a '" + spaced(flag.choices) + "'";
    case ValueKind::OptionalChoice:
      return " -f -a '" + spaced(flag.choices) + "'";
  }
  return "";
}

std::string fish_condition(const Verb& verb) {
  const std::size_t blank = verb.name.find(' ');
  if (blank == std::string_view::npos) {
    return "__fish_seen_subcommand_from " + std::string(verb.name);
  }
  return "__fish_seen_subcommand_from " + std::string(verb.name.substr(0, blank)) +
         "; and __fish_seen_subcommand_from " + std::string(verb.name.substr(blank + 1));
}

std::string fish_flag(const Verb& verb, const Flag& flag) {
  std::string out = "complete -c cordon";
  if (!verb.name.empty()) out.append(" -n '").append(fish_condition(verb)).append("'");
  const bool is_long = flag.name.starts_with("--");
  out.append(is_long ? " -l " : " -s ").append(flag.name.substr(is_long ? 2 : 1));
  out.append(fish_value(flag));
  return out.append(" -d '").append(with_escapes(flag.brief, "\\")).append("'\n");
}

std::string fish_verb(const Verb& verb) {
  const std::size_t blank = verb.name.find(' ');
  const bool sub = blank != std::string_view::npos;
  std::string condition = "__fish_use_subcommand";
  if (sub) {
    condition = "__fish_seen_subcommand_from " + std::string(verb.name.substr(0, blank)) +
                "; and not __fish_seen_subcommand_from";
    for (const Verb& other : verbs()) {
      if (other.name.starts_with(verb.name.substr(0, blank + 1))) {
        condition.append(" ").append(other.name.substr(blank + 1));
      }
    }
  }
  std::string out = "complete -c cordon -f -n '" + condition + "' -a ";
  out.append(verb.name.substr(sub ? blank + 1 : 0));
  return out.append(" -d '").append(with_escapes(verb.brief, "\\")).append("'\n");
}

// Of the first operand, where there is something to choose.
std::string fish_operand(const Verb& verb) {
  if (verb.operands.empty()) return {};
  const Operand& first = verb.operands.front();
  const bool policy = first.kind == ValueKind::Policy;
  if (!policy && first.choices.empty()) return {};
  return "complete -c cordon -n '" + fish_condition(verb) + "' -a '" +
         (policy ? policy_names() + " (__cordon_own_policies)" : spaced(first.choices)) + "'\n";
}

}  // namespace

std::string zsh_completion() {
  std::string out = "#compdef cordon\n# made by cordon help --format=zsh\n\n_cordon_policies() {\n";
  out.append("  compadd -- ").append(policy_names());
  out.append(" ${XDG_CONFIG_HOME:-$HOME/.config}/cordon/policies/*.toml(N:t:r)\n  _files\n}\n\n");
  out.append("_cordon() {\n");
  out.append("  local -a names\n  local verb=$words[2]\n");
  out.append("  if (( CURRENT == 2 )); then\n    names=(").append(zsh_names("")).append(" )\n");
  out.append("    _describe verb names\n    return\n  fi\n  shift words\n  (( CURRENT-- ))\n");
  for (const Verb& verb : verbs()) {
    if (!is_group(verb)) continue;
    const std::string name(verb.name);
    out.append("  if [[ $verb == " + name + " ]]; then\n    if (( CURRENT == 2 )); then\n");
    out.append("      names=(").append(zsh_names(name + " ")).append(" )\n");
    out.append("      _describe verb names\n      return\n    fi\n    verb=\"" + name);
    out.append(" $words[2]\"\n    shift words\n    (( CURRENT-- ))\n  fi\n");
  }
  out.append("  case $verb in\n");
  for (const Verb& verb : verbs()) {
    if (!is_group(verb)) out.append(zsh_case(verb));
  }
  return out.append("  esac\n}\n\n_cordon \"$@\"\n");
}

std::string fish_completion() {
  std::string out = "# fish completion for cordon; made by cordon help --format=fish\n";
  for (const FlagGroup& group : top_level().groups) {
    for (const Flag& flag : group.flags) {
      if (flag.id == FlagId::ShortHelp || flag.id == FlagId::Help) continue;
      std::string line = fish_flag(top_level(), flag);
      line.insert(std::string("complete -c cordon").size(), " -n '__fish_use_subcommand'");
      out.append(line);
    }
  }
  out.append(kFishPolicies);
  for (const Verb& verb : verbs()) out.append(fish_verb(verb)).append(fish_operand(verb));
  for (const Verb& verb : verbs()) {
    for (const FlagGroup& group : verb.groups) {
      for (const Flag& flag : group.flags) out.append(fish_flag(verb, flag));
    }
  }
  return out;
}

int verb_completion(const Arguments& arguments) {
  const std::string_view shell =
      arguments.operands.empty() ? std::string_view() : arguments.operands.front();
  if (arguments.operands.size() == 1) {
    if (shell == "bash") return say_answer(bash_completion()) ? kAnswerYes : kAnswerError;
    if (shell == "zsh") return say_answer(zsh_completion()) ? kAnswerYes : kAnswerError;
    if (shell == "fish") return say_answer(fish_completion()) ? kAnswerYes : kAnswerError;
  }
  say_error(usage_error(
      shell.empty() ? "no shell was named" : "there are no completions for " + quote(shell),
      "name one of bash, zsh and fish: cordon completion bash"));
  return kAnswerError;
}

}  // namespace cordon
