#include <vector>

#include "base/text.h"
#include "compat/mxc/executor/inside.h"
#include "faces/cli/console.h"
#include "faces/cli/help_text.h"
#include "faces/cli/helper_program.h"
#include "faces/cli/hook.h"
#include "faces/cli/verbs.h"
#include "faces/doctor/doctor_check.h"

namespace cordon {
namespace {

using Entry = int (*)(const Arguments&);

struct Dispatch {
  std::string_view name;
  Entry entry;
};

constexpr Dispatch kEntries[] = {
    {"run", verb_run},
    {"session start", verb_session_start},
    {"session exec", verb_session_exec},
    {"session list", verb_session_list},
    {"session show", verb_session_show},
    {"session stop", verb_session_stop},
    {"doctor", verb_doctor},
    {"help", verb_help},
    {"hook claude", verb_hook_claude},
    {"hook codex", verb_hook_codex},
    {"hook copilot", verb_hook_copilot},
    {"hook gemini", verb_hook_gemini},
    {"policy show", verb_policy_show},
    {"policy check", verb_policy_check},
    {"policy clamp", verb_policy_clamp},
    {"policy explain", verb_policy_explain},
    {"policy convert", verb_policy_convert},
    {"policy schema", verb_policy_schema},
};

Entry entry_of(const Verb& verb) {
  for (const Dispatch& candidate : kEntries) {
    if (candidate.name == verb.name) return candidate.entry;
  }
  return nullptr;
}

int complain(const Error& error, int status) {
  say_error(error);
  return status;
}

Error unknown_verb(std::string_view prefix, std::string_view word) {
  if (prefix == "hook ") {
    if (auto absent = no_hook_for(word)) return std::move(*absent);
  }
  std::vector<std::string_view> known;
  for (const Verb& verb : verbs()) {
    if (!prefix.empty() && !verb.name.starts_with(prefix)) continue;
    const std::string_view rest = verb.name.substr(prefix.size());
    if (!rest.empty() && rest.find(' ') == std::string_view::npos) known.push_back(rest);
  }
  Error error = usage_error("unknown verb " + quote(std::string(prefix) + std::string(word)));
  if (const auto near = nearest(word, known)) {
    error.hint = "did you mean cordon " + std::string(prefix) + *near + "?";
  } else {
    error.hint = "the verbs are";
    for (const std::string_view name : known) error.hint.append(" ").append(name);
  }
  return error;
}

int carry_out(const Verb& verb, std::span<const char* const> words) {
  Arguments arguments;
  const auto parsed = read_arguments(verb, words, arguments);
  if (arguments.has(FlagId::ShortHelp) || arguments.has(FlagId::Help)) {
    return say_answer(arguments.has(FlagId::Help) ? long_help(verb) : short_help(verb))
               ? 0
               : verb.usage_status;
  }
  if (!parsed) {
    if (verb.name == "run" && arguments.has(FlagId::Json)) answer_refusal(parsed.error());
    return complain(parsed.error(), verb.usage_status);
  }
  if (verb.synopsis.empty() && !arguments.operands.empty()) {
    return complain(usage_error("unexpected operand " + quote(arguments.operands.front()),
                                command_name(verb) + " takes options alone; " + command_name(verb) +
                                    " -h lists them"),
                    verb.usage_status);
  }
  if (verb.name == "mcp" && (arguments.has(FlagId::PrintConfig) || arguments.has(FlagId::Json))) {
    return print_host_config(arguments);
  }
  if (arguments.has(FlagId::PrintPolicy) || arguments.has(FlagId::PrintSettings)) {
    return print_for_apply(arguments);
  }
  const Entry entry = entry_of(verb);
  return entry != nullptr ? entry(arguments) : become_helper(verb, arguments, words);
}

// As `sh -c`: a host that puts a prefix before its commands gives one word.
int run_shell_command(std::string_view command) {
  const auto asking = asking_process();
  const std::string ends_with = asking ? "--ends-with=" + std::to_string(*asking) : std::string();
  const std::string text(command);
  std::vector<const char*> words;
  if (asking) words.push_back(ends_with.c_str());
  words.insert(words.end(), {"--", "/bin/bash", "-c", text.c_str()});
  return carry_out(*find_verb("run"), words);
}

int without_verb(std::span<const char* const> words) {
  const Verb& verb = top_level();
  Arguments arguments;
  const auto parsed = read_arguments(verb, words, arguments);
  if (arguments.has(FlagId::ShortHelp) || arguments.has(FlagId::Help)) {
    return say_answer(arguments.has(FlagId::Help) ? long_help(verb) : short_help(verb))
               ? 0
               : verb.usage_status;
  }
  if (!parsed) return complain(parsed.error(), verb.usage_status);
  if (const auto command = arguments.value(FlagId::CommandString)) {
    if (words.size() > 2 || !arguments.operands.empty()) {
      return complain(usage_error("-c takes one COMMAND and nothing else",
                                  "quote it, or write cordon run [OPTION]... -- CMD [ARG]..."),
                      verb.usage_status);
    }
    return run_shell_command(*command);
  }
  if (arguments.has(FlagId::Version)) {
    return say_answer(arguments.has(FlagId::Verbose) ? version_details() : version_line())
               ? 0
               : verb.usage_status;
  }
  if (arguments.has(FlagId::Verbose)) {
    return complain(usage_error("--verbose stands beside --version"), verb.usage_status);
  }
  return complain(usage_error("no verb was given", "cordon -h lists them"), verb.usage_status);
}

int below(const Verb& group, std::span<const char* const> words) {
  const std::string prefix = std::string(group.name) + " ";
  if (words.empty()) {
    return complain(usage_error("no sub-verb was given", "cordon " + prefix + "-h lists them"),
                    group.usage_status);
  }
  const std::string_view word(words.front());
  if (word == "-h") return say_answer(short_help(group)) ? 0 : group.usage_status;
  if (word == "--help") return say_answer(long_help(group)) ? 0 : group.usage_status;
  const Verb* verb = find_verb(prefix + std::string(word));
  if (verb == nullptr) return complain(unknown_verb(prefix, word), group.usage_status);
  return carry_out(*verb, words.subspan(1));
}

}  // namespace

int command_line(std::span<const char* const> words) {
  if (words.empty() || *words.front() == '-') return without_verb(words);
  const std::string_view name(words.front());
  if (name == kInsideVerb) return doctor_inside({words.begin() + 1, words.end()});
  if (name == mxc::kInsideVerb) return mxc::run_inside();
  const Verb* verb = name.find(' ') == std::string_view::npos ? find_verb(name) : nullptr;
  if (verb == nullptr) return complain(unknown_verb("", name), top_level().usage_status);
  return is_group(*verb) ? below(*verb, words.subspan(1)) : carry_out(*verb, words.subspan(1));
}

}  // namespace cordon
