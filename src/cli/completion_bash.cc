#include "cli/completion.h"
#include "cli/flag_table.h"
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

constexpr std::string_view kEpilogue = R"sh(
_cordon() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
  local verb=${COMP_WORDS[1]} first=2 flags="" valued="" operands="" subverbs=""
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    _cordon_words "$_cordon_verbs" "$cur"
    return
  fi
  _cordon_table "$verb"
  if [[ -n $subverbs ]]; then
    if ((COMP_CWORD == 2)); then
      _cordon_words "$subverbs" "$cur"
      return
    fi
    verb="$verb ${COMP_WORDS[2]}" first=3
    _cordon_table "$verb"
  fi
  while ((first < COMP_CWORD)); do
    case ${COMP_WORDS[first]} in
      --) ((first++)); break ;;
      -*) [[ $valued == *" ${COMP_WORDS[first]} "* ]] && ((first++)) ;;
      *) break ;;
    esac
    ((first++))
  done
  if ((first > COMP_CWORD)); then
    _cordon_value "$prev" "$cur"
  elif ((first == COMP_CWORD)) && [[ $cur == -* && $prev != -- ]]; then
    _cordon_words "$flags" "$cur"
  elif [[ $verb == run ]]; then
    if declare -F _command_offset >/dev/null; then
      _command_offset "$first"
    elif ((first == COMP_CWORD)); then
      _cordon_paths -c "$cur"
    else
      _cordon_paths -f "$cur"
    fi
  elif [[ -n $operands ]] && ((first == COMP_CWORD)); then
    _cordon_words "$operands" "$cur"
  else
    _cordon_paths -f "$cur"
  fi
}

complete -F _cordon cordon
)sh";

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
      return "_cordon_words \"" + words_of(preset_names()) +
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
  return first.kind == ValueKind::Policy ? words_of(preset_names()) : words_of(first.choices);
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

}  // namespace cordon
