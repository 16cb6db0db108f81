#include "run/secret_program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/path.h"
#include "base/text.h"
#include "host/inspect.h"
#include "host/writable.h"

namespace cordon {
namespace {

constexpr std::size_t kMostTold = std::size_t{1} << 20U;
constexpr std::string_view kKind = "command:";

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string_view word : split(text, ' '))
    if (!word.empty()) words.emplace_back(word);
  return words;
}

std::vector<std::string> words_of(const SecretRule& source) {
  return words_of(std::string_view(source.from).substr(kKind.size()));
}

// The words behind "#!" of a file that begins so, as far as the kernel reads them.
std::vector<std::string> interpreter_of(const std::string& program) {
  constexpr std::size_t kReadByTheKernel = 256;
  const Fd file(::open(program.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  char bytes[kReadByTheKernel];
  const ssize_t got = file.valid() ? ::read(file.get(), bytes, sizeof bytes) : -1;
  std::string line(bytes, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (!line.starts_with("#!")) return {};
  line.resize(std::min(line.find('\n'), line.size()));
  std::ranges::replace(line, '\t', ' ');
  return words_of(std::string_view(line).substr(2));
}

// Absolute paths in a word: "/x", or "--file=/x".
std::optional<std::string> path_in(const std::string& word) {
  if (word.starts_with('/')) return word;
  const std::size_t sign = word.find("=/");
  return sign == std::string::npos ? std::nullopt : std::optional(word.substr(sign + 1));
}

// A program may be a script, and so may what interprets it.
std::vector<std::string> files_of_command(const SecretRule& source, const Caller& caller) {
  constexpr int kMostScripts = 5;  // as the kernel
  std::vector<std::string> files;
  std::vector<std::string> words = words_of(with_program_found(source, caller));
  for (int i = 0; i <= kMostScripts && !words.empty(); ++i) {
    if (i > 0 && !words.front().starts_with('/')) words.front().insert(0, "/");
    for (const std::string& word : words)
      if (const auto path = path_in(word)) files.push_back(*path);
    words = interpreter_of(words.front());
  }
  return files;
}

constexpr std::string_view kSigns = " \t\n:=,;'\"";

// Whether that directory, or something in it, is written anywhere in a text: behind "-I" as well.
bool mentions(std::string_view text, std::string_view directory) {
  for (std::size_t at = text.find(directory); at != std::string_view::npos;
       at = text.find(directory, at + 1)) {
    const std::size_t end = at + directory.size();
    if (end == text.size() || text[end] == '/' || kSigns.find(text[end]) != std::string_view::npos)
      return true;
  }
  return false;
}

// Whether a variable may lead a program to a place that the command can write: a list of paths, an
// option, an address. The names of directories hold any sign themselves, so each part of a list is
// taken whole, and divided at every sign.
bool names_a_place(std::string_view value, const Caller& caller, const std::vector<Grant>& write) {
  const auto is_mentioned = [&](const Grant& grant) {
    return mentions(value, grant.path) || mentions(value, grant.lexical);
  };
  if (std::ranges::any_of(write, is_mentioned)) return true;
  PathTrace trace;
  const auto is_replaceable = [&](std::string_view text) {
    return text.starts_with('/') &&
           replaceable_by(write, trace.to(std::string(text)), caller.config_directory) != nullptr;
  };
  for (const std::string_view part : split(value, ':')) {
    if (is_replaceable(part)) return true;
    for (std::string_view left = part; !left.empty();) {
      const std::size_t end = std::min(left.find_first_of(kSigns), left.size());
      if (is_replaceable(left.substr(0, end))) return true;
      left.remove_prefix(std::min(end + 1, left.size()));
    }
  }
  return false;
}

}  // namespace

bool is_command(const SecretRule& source) { return source.from.starts_with(kKind); }

Error unreadable_secret(const SecretRule& source, std::string why) {
  return policy_error("the secret " + quote(source.name) + " cannot be read from " +
                          quote(source.from) + ": " + std::move(why),
                      "put it there, or correct \"from\" in its [[secret]]");
}

SecretRule with_program_found(SecretRule source, const Caller& caller) {
  if (!is_command(source)) return source;
  std::vector<std::string> words = words_of(source);
  std::string& program = words.front();
  if (program.starts_with("~/")) program = join(caller.home, program.substr(2));
  if (program.find('/') == std::string::npos) {
    if (std::string found = on_path(program, caller); !found.empty()) program = std::move(found);
  }
  source.from = kKind;
  for (const std::string& word : words) source.from += (&word == &program ? "" : " ") + word;
  return source;
}

std::optional<ReplaceablePart> replaceable_part(const SecretRule& source, const Caller& caller,
                                                const std::vector<Grant>& write) {
  if (!is_command(source)) return std::nullopt;
  PathTrace trace;
  for (const std::string& file : files_of_command(source, caller)) {
    const TracedPath way = trace.to(file);
    if (const Grant* grant = replaceable_by(write, way, caller.config_directory))
      return ReplaceablePart{file, grant->path};
    const PassedPlace* end = way.end.empty() ? nullptr : trace.seen(way.end);
    // Those of the system are root's, and some of its programs have several names.
    if (end == nullptr || end->info.kind != FileKind::Regular || end->info.links < 2 ||
        end->info.owner == 0)
      continue;
    const auto beside = std::ranges::find_if(
        write, [&](const Grant& grant) { return grant.id.device == end->info.id.device; });
    if (beside != write.end()) return ReplaceablePart{file, beside->path, true};
  }
  return std::nullopt;
}

std::vector<std::string> variables_outside(const Caller& caller, const std::vector<Grant>& write) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : caller.environment) {
    if (name != "PATH") {
      if (!names_a_place(value, caller, write)) variables.push_back(name + "=" + value);
      continue;
    }
    std::string kept;
    for (const std::string_view directory : split(value, ':')) {
      if (!directory.starts_with('/') || names_a_place(directory, caller, write)) continue;
      kept.append(kept.empty() ? "" : ":").append(directory);
    }
    variables.push_back("PATH=" + kept);
  }
  return variables;
}

// Its child is waited for by whoever waits for the process that calls.
Result<std::string> told_by_program(const SecretRule& source,
                                    const std::vector<std::string>& variables) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) return fail(unreadable_secret(source, "there is no pipe"));
  const Fd out(ends[0]);
  Fd in(ends[1]);
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> list;
    for (std::string& text : texts) list.push_back(text.data());
    list.push_back(nullptr);
    return list;
  };
  std::vector<std::string> words = words_of(source);
  std::vector<std::string> environment = variables;
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> envp = pointers(environment);
  const pid_t child = ::fork();
  if (child < 0) return fail(unreadable_secret(source, "no process could be started"));
  if (child == 0) {
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(in.get(), STDOUT_FILENO);
    ::dup2(nothing, STDERR_FILENO);
    // What an interpreter looks for where it is started would else be the project's.
    const bool found = words.front().find('/') != std::string::npos;
    if (found && ::chdir("/") == 0) ::execvpe(argv.front(), argv.data(), envp.data());
    ::_exit(127);
  }
  in.reset();
  auto text = read_all(out.get(), kMostTold);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    return fail(unreadable_secret(source, "the command is not there"));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return fail(unreadable_secret(source, "the command failed"));
  if (!text) return fail(unreadable_secret(source, "what it says is too long"));
  return *std::move(text);
}

}  // namespace cordon
