#include "faces/fleet/slurm_calls.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/fd.h"
#include "base/text.h"

namespace cordon::slurm {
namespace {

struct Said {
  int status = 0;
  std::string out;
  std::string err;
};

std::string content_of(int file, std::size_t most) {
  std::string text;
  std::array<char, 65536> part{};
  off_t at = 0;
  while (text.size() < most) {
    const ssize_t got = ::pread(file, part.data(), part.size(), at);
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
    at += got;
  }
  return text;
}

// Its streams go to memory: a program that says much must not wait for a reader.
Result<Said> call(const std::string& program, const std::vector<std::string>& words,
                  const std::vector<std::string>* environment = nullptr) {
  const Fd out(::memfd_create("out", MFD_CLOEXEC));
  const Fd err(::memfd_create("err", MFD_CLOEXEC));
  if (!out.valid() || !err.valid()) return fail(setup_error("cannot make a file", errno));
  std::vector<std::string> own{program};
  own.insert(own.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& word : own) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::vector<char*> variables;
  if (environment != nullptr) {
    for (const std::string& one : *environment) variables.push_back(const_cast<char*>(one.c_str()));
    variables.push_back(nullptr);
  }
  posix_spawn_file_actions_t actions;
  if (::posix_spawn_file_actions_init(&actions) != 0) return fail(setup_error("no memory", ENOMEM));
  (void)::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  (void)::posix_spawn_file_actions_adddup2(&actions, out.get(), STDOUT_FILENO);
  (void)::posix_spawn_file_actions_adddup2(&actions, err.get(), STDERR_FILENO);
  pid_t process = -1;
  const int error = ::posix_spawnp(&process, program.c_str(), &actions, nullptr, argv.data(),
                                   environment != nullptr ? variables.data() : environ);
  (void)::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return fail(Error{.kind = ErrorKind::Unavailable,
                      .what = "cannot start " + program + " of Slurm",
                      .hint = "type this where Slurm's commands are on PATH: on a login node, or "
                              "after apt install slurm-client",
                      .error_number = error});
  }
  int status = -1;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  constexpr std::size_t kMost = std::size_t{256} << 20U;
  constexpr std::size_t kMostSaid = 2000;
  return Said{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
              content_of(out.get(), kMost), content_of(err.get(), kMostSaid)};
}

Error complaint(const std::string& program, const Said& said, std::string hint = {}) {
  std::string text = said.err;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::ranges::replace(text, '\n', ' ');
  return {.kind = ErrorKind::Unavailable,
          .what = program + " of Slurm failed with status " + std::to_string(said.status) +
                  (text.empty() ? "" : ": " + sanitize(text)),
          .hint = std::move(hint)};
}

constexpr const char* kAskAgain = "sinfo tells whether the scheduler answers; then do it again";

}  // namespace

Result<Settings> settings() {
  CORDON_TRY(said, call("scontrol", {"show", "config"}));
  if (said.status != 0) return fail(complaint("scontrol", said, kAskAgain));
  Settings found;
  for (const std::string_view line : split(said.out, '\n')) {
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    std::string_view value = line.substr(equals + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    while (value.ends_with(' ')) value.remove_suffix(1);
    if (line.starts_with("ClusterName ")) found.cluster = std::string(value);
    if (line.starts_with("MaxArraySize ")) found.array_size = parse_number(value).value_or(0);
  }
  if (!found.cluster.empty() && found.array_size > 0) return found;
  return fail(Error{.kind = ErrorKind::Unavailable,
                    .what = "scontrol of Slurm names no cluster",
                    .hint = "scontrol show config has to name ClusterName and MaxArraySize"});
}

Result<std::string> submit(const std::vector<std::string>& options, const std::string& script,
                           const std::vector<std::string>& environment) {
  std::vector<std::string> words{"--parsable"};
  for (const std::string& option : options) words.push_back("--" + option);
  words.push_back(script);
  CORDON_TRY(said, call("sbatch", words, &environment));
  if (said.status != 0) return fail(complaint("sbatch", said));
  // "17", or "17;cluster".
  const std::string_view id = std::string_view(said.out).substr(0, said.out.find_first_of(";\n"));
  if (parse_number(id)) return std::string(id);
  return fail(complaint("sbatch", said, "it named no job: squeue tells whether there is one"));
}

Result<std::map<std::uint64_t, QueuedTask>> queue(const std::string& job, const std::string& name) {
  // By name: of a job that it has forgotten --jobs would be an error like any other.
  CORDON_TRY(said, call("squeue", {"--noheader", "--array", "--states=all", "--name=" + name,
                                   "--format=%F|%K|%T|%N|%r"}));
  if (said.status != 0) return fail(complaint("squeue", said, kAskAgain));
  std::map<std::uint64_t, QueuedTask> tasks;
  for (const std::string_view line : split(said.out, '\n')) {
    const auto parts = split(line, '|');
    constexpr std::size_t kParts = 5;
    if (parts.size() < kParts || parts[0] != job) continue;
    const auto index = parse_number(parts[1]);
    if (!index) continue;
    tasks[*index] = {std::string(parts[2]), std::string(parts[3]), std::string(parts[4])};
  }
  return tasks;
}

bool is_over(const QueuedTask& task) {
  constexpr std::array<std::string_view, 10> kEnds{
      "BOOT_FAIL", "CANCELLED",     "COMPLETED", "DEADLINE", "FAILED",
      "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED",  "TIMEOUT"};
  return std::ranges::count(kEnds, task.state) != 0;
}

Result<void> requeue(const std::string& task) {
  CORDON_TRY(said, call("scontrol", {"requeue", task}));
  if (said.status != 0) return fail(complaint("scontrol", said));
  return {};
}

Result<void> cancel(const std::string& job) {
  CORDON_TRY(said, call("scancel", {job}));
  if (said.status != 0) return fail(complaint("scancel", said, kAskAgain));
  return {};
}

}  // namespace cordon::slurm
