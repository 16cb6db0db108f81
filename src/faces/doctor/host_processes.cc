// The processes of an agent host that run now, and how they were started.
#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <optional>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "faces/doctor/agent_host.h"
#include "host/inspect.h"
#include "host/walk.h"

namespace cordon {
namespace {

constexpr std::size_t kLongestCommandLine = std::size_t{1024} * 1024;

// How the line that is printed is told from another: the variables it sets, the program, the words
// behind it.
struct Launch {
  std::vector<std::string> variables;
  std::string program;
  std::vector<std::string> words;
};

Launch parts_of(const std::vector<std::string>& line) {
  Launch launch;
  for (const std::string& word : line) {
    if (!launch.program.empty()) {
      launch.words.push_back(word);
    } else if (word.find('=') != std::string::npos) {
      launch.variables.push_back(word);
    } else if (word != "env") {
      launch.program = word;
    }
  }
  return launch;
}

std::vector<std::string> words_in(int processes, const std::string& name) {
  const Fd file(::openat(processes, name.c_str(), O_RDONLY | O_CLOEXEC));
  const auto text = file.valid() ? read_all(file.get(), kLongestCommandLine) : std::nullopt;
  if (!text) return {};
  auto words = split(*text, '\0');
  if (!words.empty() && words.back().empty()) words.pop_back();
  return {words.begin(), words.end()};
}

// The words behind the program; nothing if this is another program. Of one that node runs, words of
// node's own may stand before it.
std::optional<std::vector<std::string>> words_behind(const std::vector<std::string>& argv,
                                                     std::string_view program) {
  const auto called = [&](const std::string& word) {
    const std::string_view name = std::string_view(word).substr(word.rfind('/') + 1);
    return name == program || name == std::string(program) + ".js";
  };
  if (argv.empty()) return std::nullopt;
  auto found = argv.begin();
  if (!called(*found)) {
    if (!argv.front().ends_with("node")) return std::nullopt;
    found = std::find_if(argv.begin() + 1, argv.end(),
                         [](const std::string& word) { return !word.starts_with("-"); });
    if (found == argv.end() || !called(*found)) return std::nullopt;
  }
  return std::vector<std::string>(found + 1, argv.end());
}

// A further word may set anything: `-c features.shell_tool=true` behind the printed ones gives the
// shell back. So the words are the printed ones and no others.
ProcessWords judged(const std::vector<std::string>& words,
                    const std::vector<std::string>& environment, const Launch& launch) {
  const bool variables = std::ranges::all_of(launch.variables, [&](const std::string& variable) {
    return std::ranges::find(environment, variable) != environment.end();
  });
  if (variables && words == launch.words) return ProcessWords::AsTold;
  return words.empty() ? ProcessWords::None : ProcessWords::Own;
}

bool works_in(int processes, const std::string& name, const std::string& project) {
  std::array<char, PATH_MAX> target{};
  const ssize_t length =
      ::readlinkat(processes, join(name, "cwd").c_str(), target.data(), target.size());
  if (length < 0) return errno != ENOENT && errno != ESRCH;
  return contains(project, std::string_view(target.data(), static_cast<std::size_t>(length)));
}

}  // namespace

std::vector<HostProcess> running_hosts(const std::vector<std::string>& line,
                                       const std::string& project) {
  const Launch launch = parts_of(line);
  std::vector<HostProcess> found;
  const Fd processes(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DirectoryNames names;
  if (launch.program.empty() || !processes.valid() || !names.read(processes.get())) return found;
  for (const DirectoryEntry& entry : names.entries()) {
    const auto pid = parse_number(entry.name);
    struct stat status {};
    const std::string name(entry.name);
    if (!pid || ::fstatat(processes.get(), name.c_str(), &status, 0) != 0 ||
        status.st_uid != ::getuid()) {
      continue;
    }
    const auto words =
        words_behind(words_in(processes.get(), join(name, "cmdline")), launch.program);
    if (!words) continue;
    const auto environment = words_in(processes.get(), join(name, "environ"));
    found.push_back(
        {*pid, judged(*words, environment, launch), works_in(processes.get(), name, project)});
  }
  return found;
}

bool line_takes_tools_away(const std::vector<std::string>& line) {
  const Launch launch = parts_of(line);
  return !launch.words.empty() || !launch.variables.empty();
}

}  // namespace cordon
