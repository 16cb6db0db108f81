#include "faces/cli/arguments.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "faces/cli/console.h"
#include "faces/cli/help_flags.h"

namespace cordon {
namespace {

std::string listing_of(const Verb& verb) {
  std::string help = "cordon";
  if (!verb.name.empty()) help.append(" ").append(verb.name);
  return help + " -h lists the options";
}

// Of -w: --write. One letter is too little for the distance between words.
std::string long_names_for(const Verb& verb, char letter) {
  std::string names;
  for (const FlagGroup& group : verb.groups) {
    for (const Flag& flag : group.flags) {
      if (flag.name.size() < 3 || flag.name[2] != letter) continue;
      names.append(names.empty() ? "" : " or ").append(flag.name);
    }
  }
  return names;
}

// What begins with one "-".
std::string hint_for_short(const Verb& verb, std::string_view name) {
  const std::string_view rest = name.substr(1);
  if (parse_number(rest)) {
    if (find_flag(verb, "--limit") != nullptr)
      return "did you mean --limit " + std::string(rest) + "?";
    return "a number stands without \"-\"; " + listing_of(verb);
  }
  const std::string names = rest.size() == 1 ? long_names_for(verb, rest.front()) : std::string();
  return names.empty() ? listing_of(verb) : "did you mean " + names + "?";
}

// A verb that has the option: the one that was typed, else the first.
std::optional<std::string_view> verb_with(std::string_view name,
                                          std::span<const char* const> typed) {
  const auto all = verbs();
  std::optional<std::string_view> first;
  for (const Verb& verb : all) {
    if (verb.name.empty() || find_flag(verb, name) == nullptr) continue;
    if (std::ranges::find(typed, verb.name.substr(0, verb.name.find(' ')),
                          [](const char* word) { return std::string_view(word); }) != typed.end()) {
      return verb.name;
    }
    if (!first) first = verb.name;
  }
  return first;
}

Error unknown_flag(const Verb& verb, std::string_view name, std::span<const char* const> typed) {
  std::string what = "unknown option " + quote(name);
  constexpr std::size_t kShort = 2;
  // Before the verb stand those of no verb alone. Of one letter too little is said for that.
  const bool before = verb.name.empty() && name.size() > kShort;
  if (const auto of = before ? verb_with(name, typed) : std::nullopt) {
    return usage_error(std::move(what), "options of a verb stand behind it: cordon " +
                                            std::string(*of) + " " + std::string(name));
  }
  if (name.size() == kShort) return usage_error(std::move(what), hint_for_short(verb, name));
  std::vector<std::string_view> known{"--help"};
  for (const FlagGroup& group : verb.groups) {
    for (const Flag& flag : group.flags) known.push_back(flag.name);
  }
  if (const auto near = nearest(name, known)) {
    return usage_error(std::move(what), "did you mean " + *near + "?");
  }
  return usage_error(std::move(what),
                     name.starts_with("--") ? listing_of(verb) : hint_for_short(verb, name));
}

// "--" ends the options and is no value: whoever has a file of that name writes ./--.
Result<std::string_view> value_of(const Flag& flag, std::span<const char* const> words,
                                  std::size_t& next) {
  if (next < words.size() && std::string_view(words[next]) != "--") {
    return std::string_view(words[next++]);
  }
  std::string what = "option " + std::string(flag.name) + " needs a value";
  if (next < words.size()) what += ", and " + std::string(words[next]) + " is none";
  return fail(usage_error(std::move(what),
                          "write " + std::string(flag.name) + " " + std::string(flag.argument)));
}

}  // namespace

bool Arguments::has(FlagId id) const {
  return std::ranges::any_of(flags, [&](const GivenFlag& flag) { return flag.id == id; });
}

std::optional<std::string_view> Arguments::value(FlagId id) const {
  const auto found = std::find_if(flags.rbegin(), flags.rend(),
                                  [&](const GivenFlag& flag) { return flag.id == id; });
  if (found == flags.rend()) return std::nullopt;
  return found->value;
}

std::vector<std::string_view> Arguments::values(FlagId id) const {
  std::vector<std::string_view> found;
  for (const GivenFlag& flag : flags) {
    if (flag.id == id) found.push_back(flag.value);
  }
  return found;
}

namespace {

// Reads the option `word`, behind which the words at `next` follow.
Result<void> read_flag(const Verb& verb, std::string_view word, std::span<const char* const> words,
                       std::size_t& next, Arguments& arguments) {
  const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string_view::npos;
  const std::string_view name = word.substr(0, equals);
  const Flag* flag = find_flag(verb, name);
  if (flag == nullptr) return fail(unknown_flag(verb, name, words));
  std::string_view value;
  if (flag->kind == ValueKind::None) {
    if (equals != std::string_view::npos) {
      return fail(usage_error("option " + std::string(name) + " takes no value",
                              "write " + std::string(name) + " alone"));
    }
  } else if (equals != std::string_view::npos) {
    value = word.substr(equals + 1);
    if (value.empty() && flag->kind == ValueKind::OptionalChoice) {
      return fail(usage_error("option " + std::string(name) + "= has no value",
                              "write " + std::string(flag->name) + " alone, or " +
                                  std::string(flag->name) + "=" +
                                  std::string(flag->choices.front())));
    }
  } else if (flag->kind != ValueKind::OptionalChoice) {
    CORDON_TRY(following, value_of(*flag, words, next));
    value = following;
  }
  arguments.flags.push_back({flag->id, flag->name, value});
  return {};
}

// What stands behind the first operand of such a verb belongs to a command, an agent or a runtime.
bool passes_words_on(const Verb& verb) {
  return verb.synopsis.find("[ARG]...") != std::string_view::npos;
}

bool counts_from_the_end(const Verb& verb, std::string_view word) {
  return verb.synopsis.find("-N") != std::string_view::npos && parse_number(word.substr(1));
}

}  // namespace

Result<void> parse_arguments(const Verb& verb, std::span<const char* const> words,
                             Arguments& arguments) {
  std::size_t next = 0;
  while (next < words.size()) {
    const std::string_view word(words[next]);
    // A lone "-" is an operand by long custom, and "-1" counts from the end where that is said.
    if (word.size() < 2 || word.front() != '-' || counts_from_the_end(verb, word)) {
      if (passes_words_on(verb)) break;
      arguments.operands.push_back(word);
      ++next;
      continue;
    }
    if (word == "--") {
      // Behind an operand it says that what follows is none of the words that stand there.
      if (!arguments.operands.empty()) break;
      arguments.ended_flags = true;
      ++next;
      break;
    }
    ++next;
    CORDON_CHECK(read_flag(verb, word, words, next, arguments));
  }
  for (; next < words.size(); ++next) arguments.operands.emplace_back(words[next]);
  return {};
}

Result<void> read_arguments(const Verb& verb, std::span<const char* const> words,
                            Arguments& arguments) {
  auto parsed = parse_arguments(verb, words, arguments);
  const auto when = arguments.value(FlagId::Color);
  if (!when) return parsed;
  const auto* const choice = std::ranges::find(flags::kColorChoices, *when);
  if (choice == flags::kColorChoices.end()) {
    if (!parsed) return parsed;
    return fail(usage_error("--color " + quote(*when) + ": no such choice",
                            "write --color auto, always or never"));
  }
  constexpr std::array kUses{ColorUse::Auto, ColorUse::Always, ColorUse::Never};
  use_colors(kUses[static_cast<std::size_t>(choice - flags::kColorChoices.begin())]);
  return parsed;
}

}  // namespace cordon
