#include "run/missing_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/path.h"
#include "base/text.h"
#include "host/resolve.h"
#include "policy/environment.h"
#include "run/access.h"

namespace cordon {
namespace {

// Words that are no programs on every system, of sh and of bash.
constexpr auto kShellWords = std::to_array<std::string_view>(
    {".",      ":",    "alias", "bg",     "command", "eval",    "exec",  "exit",
     "export", "fg",   "hash",  "jobs",   "read",    "return",  "set",   "time",
     "times",  "trap", "type",  "ulimit", "umask",   "unalias", "unset", "wait"});
constexpr auto kBashWords = std::to_array<std::string_view>(
    {"[[", "bind", "builtin", "declare", "dirs", "disown", "enable", "history", "let", "local",
     "popd", "pushd", "shopt", "source"});

template <std::size_t N>
bool is_among(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, word) != words.end();
}

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  return equals != std::string_view::npos && is_valid_variable_name(word.substr(0, equals));
}

std::string words_from(const std::vector<std::string>& argv, std::size_t first) {
  std::string line;
  for (std::size_t i = first; i < argv.size(); ++i)
    line.append(line.empty() ? "" : " ").append(shell_word(argv[i]));
  return line;
}

// As a shell would have taken it before Cordon was given its words.
std::string through_shell(const AskedCommand& asked, std::string_view shell,
                          const std::string& line) {
  return asked.start + std::string(shell) + " -c " + shell_word(line);
}

// PATH=/x ls: `--env` passes it where that is permitted. Inside, `env` sets whatever it likes for
// what it starts.
std::string cure_for_assignment(const AskedCommand& asked) {
  std::size_t variables = 0;
  bool by_option = !asked.run.empty() && !asked.variables_are_bound;
  while (variables < asked.argv.size() && is_assignment(asked.argv[variables])) {
    const std::string& word = asked.argv[variables++];
    by_option = by_option && !is_loader_variable(word.substr(0, word.find('=')));
  }
  const std::string what = shell_word(asked.argv.front()) + " sets a variable in a shell alone: ";
  std::string command = words_from(asked.argv, variables);
  if (command.empty()) command = "CMD";
  if (!by_option) {
    std::string line = asked.start + "env";
    for (std::size_t i = 0; i < variables; ++i) line += " " + shell_word(asked.argv[i]);
    return what + line + " " + command;
  }
  std::string line = asked.run;
  for (std::size_t i = 0; i < variables; ++i) line += " --env " + shell_word(asked.argv[i]);
  return what + line + " -- " + command;
}

std::string cure_for_shell_word(const AskedCommand& asked) {
  const std::string& name = asked.argv.front();
  const bool bash = is_among(name, kBashWords);
  const std::string what = shell_word(name) + " is a word of the shell: ";
  if (name == "cd") {
    const std::string line = asked.start;
    const std::string directory = asked.argv.size() > 1 ? shell_word(asked.argv[1]) : "DIR";
    const std::string before = line.substr(0, line.size() - std::string_view("-- ").size());
    return what + before + "--cwd " + directory + " -- CMD starts a command there";
  }
  if (name == "export" && asked.argv.size() > 1 && is_assignment(asked.argv[1])) {
    const std::vector<std::string> variables(asked.argv.begin() + 1, asked.argv.end());
    return cure_for_assignment(
        {variables, asked.caller, asked.start, asked.run, asked.variables_are_bound});
  }
  if (bash || is_among(name, kShellWords))
    return what + through_shell(asked, bash ? "bash" : "sh", words_from(asked.argv, 0));
  return {};
}

bool is_program(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

std::string outside_place(const AskedCommand& asked) {
  const std::string& name = asked.argv.front();
  std::vector<std::string> places;
  if (name.find('/') != std::string::npos) {
    places = {name};
  } else if (const auto path = asked.caller.environment.find("PATH");
             path != asked.caller.environment.end()) {
    for (const std::string_view directory : split(path->second, ':'))
      places.push_back(join(directory, name));
  }
  const auto found = std::ranges::find_if(places, is_program);
  return found == places.end() ? std::string() : *found;
}

std::string cure_for_place(const AskedCommand& asked, const std::string& place) {
  const bool by_path = asked.argv.front().find('/') == std::string::npos;
  const std::string& from = asked.cwd.empty() ? asked.caller.cwd : asked.cwd;
  const Result<Canonical> found = canonicalize_existing(place, from, asked.caller);
  const bool inside = found && asked.is_inside && asked.is_inside(found->path);
  if (inside && by_path) {
    return "it is inside as " + quote(place) + ", but PATH there is " + quote(asked.path_inside) +
           ": name it as " + quote(place) + ", or leave PATH as it is";
  }
  if (inside) return "it is there; the interpreter or loader that it names is not: grant that";
  return "it exists outside as " + quote(place) + ": grant it with --read";
}

bool looks_like_a_line(std::string_view word) {
  return word.find_first_of(" \t\n|&;<>()$`\\\"'*?") != std::string_view::npos;
}

// Of a file that is there inside and was refused as a program.
std::string cure_for_refused(const AskedCommand& asked, int number) {
  const std::string& name = asked.argv.front();
  const bool by_path = name.find('/') != std::string::npos;
  const std::string place = name.starts_with('/') ? name
                            : by_path             ? join(asked.cwd, name)
                                                  : outside_place(asked);
  struct stat status {};
  const bool seen = !place.empty() && ::stat(place.c_str(), &status) == 0;
  if (seen && S_ISDIR(status.st_mode)) return "it is a directory: name a program in it";
  if (number == ENOEXEC) {
    return "it is no program of this machine, or a script whose first line names no interpreter: "
           "write #!/bin/sh there, or " +
           asked.start + "sh " + shell_word(name);
  }
  if (seen && S_ISREG(status.st_mode) && (status.st_mode & 0111) == 0) {
    return "its mode has no right to execute: chmod +x " + shell_word(name) + ", or of a script " +
           asked.start + "sh " + shell_word(name);
  }
  return by_path ? "cordon policy explain exec " + shell_word(name) + " tells by which rule" : "";
}

}  // namespace

std::string cure_for_missing(const AskedCommand& asked) {
  const std::string& name = asked.argv.front();
  if (const std::string place = outside_place(asked); !place.empty())
    return cure_for_place(asked, place);
  if (is_assignment(name)) return cure_for_assignment(asked);
  if (asked.argv.size() == 1 && looks_like_a_line(name))
    return "if it is a line for a shell: " + through_shell(asked, "sh", name);
  if (name == "help" && !asked.run.empty())
    return asked.run + " --help explains the options; cordon help lists the verbs";
  if (std::string cure = cure_for_shell_word(asked); !cure.empty()) return cure;
  if (name.find('/') == std::string::npos)
    return "it is not installed, or its directory is not on PATH";
  // What is there and hidden has a rule; of what is not, the place that was meant is said.
  const std::string& from = asked.cwd.empty() ? asked.caller.cwd : asked.cwd;
  const std::string place = name.starts_with('/') ? name : join(from, name);
  struct stat status {};
  if (::lstat(place.c_str(), &status) != 0 && errno == ENOENT)
    return "nothing is at " + quote(normalize(place)) + ": correct the spelling, or make it first";
  return "cordon policy explain exec " + shell_word(name) + " tells by which rule";
}

Error with_command_hint(Error error, const AskedCommand& asked) {
  if (error.kind != ErrorKind::Command || asked.argv.empty()) return error;
  if (error.exit_status == 127) error.hint = cure_for_missing(asked);
  if (error.exit_status == 126 && error.hint.empty() && error.error_number != 0)
    error.hint = cure_for_refused(asked, error.error_number);
  return error;
}

AskedCommand asked_command(const JudgedRun& run, const std::vector<std::string>& argv,
                           const std::vector<Ceiling>& ceilings) {
  AskedCommand asked{argv, run.caller};
  asked.cwd = run.plan.cwd;
  asked.variables_are_bound =
      std::ranges::any_of(ceilings, [](const Ceiling& ceiling) { return ceiling.bounds_env; });
  constexpr std::string_view kPath = "PATH=";
  for (const std::string& variable : run.plan.environment)
    if (variable.starts_with(kPath)) asked.path_inside = variable.substr(kPath.size());
  asked.is_inside = [&run](const std::string& path) {
    const auto answer = access_to(run, Access::Execute, path);
    return answer && answer->inside;
  };
  return asked;
}

}  // namespace cordon
