#include "cli/help_text.h"

#include <algorithm>

#include "base/text.h"

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

}  // namespace cordon
