// Completions for zsh and fish.
#include "cli/completion.h"
#include "cli/flag_table.h"
#include "policy/presets.h"

namespace cordon {
namespace {

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
      return "{ compadd -- " + spaced(preset_names()) + "; _files }";
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
      return " -r -F -a '" + spaced(preset_names()) + "'";
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

}  // namespace

std::string zsh_completion() {
  std::string out = "#compdef cordon\n# made by cordon help --format=zsh\n\n_cordon() {\n";
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
  for (const Verb& verb : verbs()) out.append(fish_verb(verb));
  for (const Verb& verb : verbs()) {
    for (const FlagGroup& group : verb.groups) {
      for (const Flag& flag : group.flags) out.append(fish_flag(verb, flag));
    }
  }
  return out;
}

}  // namespace cordon
