#include "faces/cli/help_text.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "cordon/runner.h"
#include "faces/cli/completion.h"
#include "faces/cli/console.h"
#include "faces/cli/verbs.h"

namespace cordon {
namespace {

constexpr std::size_t kColumns = 79;
constexpr std::size_t kNameColumn = 27;

std::string spelled(const Flag& flag) {
  std::string text(flag.name);
  if (!flag.argument.empty() && flag.kind != ValueKind::OptionalChoice) text.append(" ");
  text.append(flag.argument);
  return text;
}

// Breaks a paragraph at blanks so that no line is longer than the columns.
std::string wrapped(std::string_view paragraph, std::size_t indent) {
  std::string out;
  std::size_t column = 0;
  for (const std::string_view word : split(paragraph, ' ')) {
    if (column == 0) {
      out.append(indent, ' ');
      column = indent;
    } else if (column + 1 + word.size() > kColumns) {
      out.append("\n").append(indent, ' ');
      column = indent;
    } else {
      out.append(" ");
      ++column;
    }
    out.append(word);
    column += word.size();
  }
  return out.append("\n");
}

std::string paragraphs(std::string_view text, std::size_t indent) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("\n\n"), text.size());
    if (!out.empty()) out.append("\n");
    out.append(wrapped(text.substr(0, end), indent));
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return out;
}

std::string usage(const Verb& verb) {
  std::string text = "usage: " + command_name(verb);
  if (!verb.name.empty() && !is_group(verb)) text.append(" [OPTION]...");
  if (!verb.synopsis.empty()) text.append(" ").append(verb.synopsis);
  return text.append("\n");
}

std::string line(std::string_view name, std::string_view brief) {
  std::string text = "  " + std::string(name);
  text.resize(std::max(text.size() + 1, kNameColumn), ' ');
  return text.append(brief).append("\n");
}

// The verbs that stand directly below this one.
std::string verb_lines(const Verb& verb) {
  std::string out;
  for (const Verb& candidate : verbs()) {
    const std::size_t blank = candidate.name.find(' ');
    const bool below = verb.name.empty() ? blank == std::string_view::npos
                                         : blank != std::string_view::npos &&
                                               candidate.name.substr(0, blank) == verb.name;
    if (below)
      out.append(line(candidate.name.substr(verb.name.empty() ? 0 : blank + 1), candidate.brief));
  }
  return out.empty() ? out : "\nVerbs:\n" + out;
}

std::string examples(const Verb& verb) {
  std::string out = "\nExamples:\n";
  for (const Example& example : verb.examples) {
    out.append("\n  ").append(example.command).append("\n").append(wrapped(example.text, 6));
  }
  return out;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

// scdoc reads *, _, \, # and leading dots as markup.
std::string scdoc_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("*_\\#<>~[").find(c) != std::string_view::npos) out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

}  // namespace

std::string command_name(const Verb& verb) {
  std::string name = "cordon";
  if (!verb.name.empty()) name.append(" ").append(verb.name);
  return name;
}

std::string short_help(const Verb& verb) {
  std::string out = usage(verb) + verb_lines(verb);
  if (!verb.operands.empty()) out.append("\nOperands:\n");
  for (const Operand& operand : verb.operands) out.append(line(operand.name, operand.text));
  for (const FlagGroup& group : verb.groups) {
    out.append("\n").append(group.title).append(":\n");
    for (const Flag& flag : group.flags) out.append(line(spelled(flag), flag.brief));
  }
  return out;
}

std::string long_help(const Verb& verb) {
  std::string out = command_name(verb) + ": " + std::string(verb.brief) + "\n\n";
  out.append(usage(verb)).append("\n").append(paragraphs(verb.text, 0)).append(verb_lines(verb));
  if (!verb.operands.empty()) out.append("\nOperands:\n");
  for (const Operand& operand : verb.operands) {
    out.append("  ").append(operand.name).append("\n").append(wrapped(operand.text, 6));
  }
  for (const FlagGroup& group : verb.groups) {
    out.append("\n").append(group.title).append(":\n");
    for (const Flag& flag : group.flags) {
      out.append("  ").append(spelled(flag)).append("\n").append(wrapped(flag.text, 6));
    }
  }
  return out.append(examples(verb));
}

std::string manual_options(const Verb& verb) {
  const std::size_t blank = verb.name.find(' ');
  const bool part_of_a_page = blank != std::string_view::npos;
  std::string out = "# OPTIONS\n";
  if (part_of_a_page) {
    out = "# " + upper(verb.name.substr(blank + 1)) + "\n\n*" + command_name(verb) +
          "* \\[OPTION]... ";
    out.append(scdoc_text(verb.synopsis)).append("\n\n").append(scdoc_text(verb.text)).append("\n");
  }
  for (const FlagGroup& group : verb.groups) {
    if (!part_of_a_page || verb.groups.size() > 2) {
      out.append("\n## ").append(group.title).append("\n");
    }
    for (const Flag& flag : group.flags) {
      out.append("\n*").append(flag.name).append("*");
      if (flag.kind == ValueKind::OptionalChoice) {
        out.append(scdoc_text(flag.argument));
      } else if (!flag.argument.empty()) {
        out.append(" _").append(scdoc_text(flag.argument)).append("_");
      }
      out.append("\n\t").append(scdoc_text(flag.text)).append("\n");
    }
  }
  out.append(part_of_a_page ? "\n## Examples\n" : "\n# EXAMPLES\n");
  for (const Example& example : verb.examples) {
    out.append("\n").append(scdoc_text(example.text)).append("\n\n```\n");
    out.append(example.command).append("\n```\n");
  }
  return out;
}

namespace {

Result<std::string> help_answer(const Arguments& arguments) {
  std::string name;
  for (const std::string_view word : arguments.operands) {
    if (!name.empty()) name.append(" ");
    name.append(word);
  }
  const Verb* verb = name.empty() ? &top_level() : find_verb(name);
  if (verb == nullptr) {
    return fail(usage_error("unknown verb " + quote(name), "cordon -h lists the verbs"));
  }
  const std::string_view format = arguments.value(FlagId::Format).value_or("text");
  if (format == "text") return long_help(*verb);
  if (format == "man") return manual_options(*verb);
  if (format == "bash") return bash_completion();
  if (format == "zsh") return zsh_completion();
  if (format == "fish") return fish_completion();
  return fail(usage_error("--format " + quote(format) + ": unknown form",
                          "write text, man, bash, zsh or fish"));
}

}  // namespace

int verb_help(const Arguments& arguments) {
  const auto answer = help_answer(arguments);
  if (!answer) {
    say_error(answer.error());
    return kAnswerError;
  }
  return say_answer(*answer) ? kAnswerYes : kAnswerError;
}

std::span<const ProvenMachine> proven_machines() {
  static const std::vector<ProvenMachine> kMachines = {
#include "proven.inc"
  };
  return kMachines;
}

bool architecture_is_proven(std::string_view architecture) {
  return std::ranges::any_of(proven_machines(), [&](const ProvenMachine& machine) {
    return machine.architecture == architecture;
  });
}

bool cgroup_is_proven(int version) {
  return std::ranges::any_of(proven_machines(), [&](const ProvenMachine& machine) {
    return machine.cgroup_version == version;
  });
}

std::string proven_executors(std::span<const ProvenMachine> machines,
                             std::string_view architecture) {
  std::string names;
  for (const ProvenMachine& machine : machines) {
    if (machine.architecture != architecture || machine.executors.empty()) continue;
    names.append(names.empty() ? "" : ", ").append(machine.executors);
  }
  return names;
}

namespace {

#if defined(__aarch64__)
constexpr std::string_view kArchitecture = "aarch64";
#elif defined(__x86_64__)
constexpr std::string_view kArchitecture = "x86_64";
#else
#error "Cordon knows the system calls of aarch64 and x86_64 only"
#endif

std::string_view proof(bool proven) {
  return proven ? "proven" : "unproven: no suite ran on a machine that has it";
}

std::string machine_line(const ProvenMachine& machine) {
  std::string line = "proven on: ";
  line.append(machine.architecture).append(", Linux ").append(machine.kernel);
  line.append(", Landlock ABI ").append(std::to_string(machine.landlock_abi));
  line.append(", cgroup v").append(std::to_string(machine.cgroup_version));
  line.append(": ").append(std::to_string(machine.cases)).append(" cases, ");
  line.append(machine.date.substr(0, 10)).append(", commit ").append(machine.commit.substr(0, 12));
  return line + "\n";
}

}  // namespace

std::string version_line() { return "cordon " + std::string(version()) + "\n"; }

std::string version_details() {
  std::string text = version_line();
  text.append("architecture: ").append(kArchitecture).append(" (");
  text.append(proof(architecture_is_proven(kArchitecture))).append(")\n");
  text.append("backends: native, bwrap, landlock, mxc\n");
  for (const int cgroup : {1, 2}) {
    text.append("cgroup v").append(std::to_string(cgroup)).append(": ");
    text.append(proof(cgroup_is_proven(cgroup))).append("\n");
  }
  for (const ProvenMachine& machine : proven_machines()) text.append(machine_line(machine));
  const std::string executors = proven_executors(proven_machines(), kArchitecture);
  text.append("mxc: ");
  text.append(executors.empty() ? "unproven: no suite ran an executor on this architecture"
                                : "proven with " + executors);
  text.append("\n");
  text.append("seatbelt: unproven: no profile was ever loaded by macOS\n");
  text.append("processcontainer command lines: unproven: never run by Windows\n");
  return text;
}

}  // namespace cordon
