#include "run/object_dialogue.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <memory>
#include <system_error>
#include <thread>

#include "base/text.h"
#include "host/git/branch_tips.h"

namespace cordon {

RunInput own_git_input(const RunInput& outer, const std::string& readable) {
  RunInput input;
  input.policy = *Policy::preset("strict");
  input.policy.fs.read.push_back({readable, {}});
  // Neither the person's settings nor the system's, no replacements, nothing fetched: what is not
  // in the git directory is missing.
  input.policy.env.set = {{"GIT_CONFIG_NOSYSTEM", "1"},
                          {"GIT_CONFIG_GLOBAL", "/dev/null"},
                          {"GIT_NO_LAZY_FETCH", "1"},
                          {"GIT_GRAFT_FILE", "/dev/null"},
                          {"GIT_NO_REPLACE_OBJECTS", "1"},
                          {"GIT_TERMINAL_PROMPT", "0"},
                          {"LC_ALL", "C"}};
  input.ceilings = outer.ceilings;
  input.backends = outer.backends;
  input.recorder = outer.recorder;
  input.signal_descriptor = outer.signal_descriptor;
  input.cancel = outer.cancel;
  input.cwd = "/";
  input.describe_policy = false;
  input.asker.action = "git";
  return input;
}

std::string failure_of_git(const Report& report) {
  if (report.error) return message(*report.error);
  const int status = exit_status(report.outcome->end);
  if (status == 0) return {};
  std::string said = report.outcome->err ? report.outcome->err->text() : std::string();
  said = said.substr(0, said.find('\n'));
  return "git ended with status " + std::to_string(status) + (said.empty() ? "" : ": ") +
         sanitize(said);
}

namespace {

constexpr std::uint64_t kWallMs = 10'000;
constexpr std::uint64_t kMemory = std::uint64_t{512} << 20U;
constexpr std::uint64_t kOutput = std::uint64_t{256} << 20U;
constexpr std::uint64_t kProcesses = 16;
// "ID TYPE SIZE"
constexpr std::size_t kMostHead = 128;
// One answer at a time is asked for: more than the largest is a flood.
constexpr std::size_t kMostKept = std::size_t{32} << 20U;

RunInput git_input(const RunInput& outer, const std::string& directory) {
  RunInput input = own_git_input(outer, directory);
  input.policy.limits.wall_ms = kWallMs;
  input.policy.limits.memory = kMemory;
  input.policy.limits.output_total = kOutput;
  input.policy.limits.pids = kProcesses;
  input.argv = {"git", "--no-replace-objects", "--git-dir=" + directory, "cat-file", "--batch"};
  return input;
}

}  // namespace

std::string ObjectDialogue::run(const RunInput& outer, const Caller& caller,
                                const std::string& directory, const std::function<void()>& talk) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) return message(setup_error("cannot make a pipe", errno));
  RunInput input = git_input(outer, directory);
  input.streams.input_pipe = std::make_shared<Fd>(ends[0]);
  input.streams.out =
      Output::heard_by([this](OutputFrom from, std::string_view bytes) { hear(from, bytes); });
  to_git_ = Fd(ends[1]);
  // Signals belong to the thread that supervises.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  try {
    thread = std::thread([&] {
      talk();
      to_git_.reset();  // git ends with its input
    });
  } catch (const std::system_error& error) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return message(setup_error("cannot start a thread", error.code().value()));
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  const Report report = run_contained(input, caller);
  // Nobody reads any more: without this a talk that writes would wait, or end by a signal.
  input.streams.input_pipe.reset();
  end();
  thread.join();
  if (report.outcome) recovered_ = report.outcome->handoff;
  std::string failure = failure_of_git(report);
  if (failure.empty() && broken_) failure = "git gave an answer that is none";
  return failure;
}

void ObjectDialogue::end() {
  const std::lock_guard lock(mutex_);
  over_ = true;
  arrived_.notify_all();
}

void ObjectDialogue::hear(OutputFrom from, std::string_view bytes) {
  if (from != OutputFrom::Out) return;
  const std::lock_guard lock(mutex_);
  if (!over_) buffer_.append(bytes);
  if (buffer_.size() > kMostKept) {
    over_ = true;
    buffer_.clear();
  }
  arrived_.notify_all();
}

bool ObjectDialogue::send(std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(to_git_.get(), text.data(), text.size());
    if (put < 0 && errno != EINTR) return false;
    if (put > 0) text.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

bool ObjectDialogue::wait(std::unique_lock<std::mutex>& lock, std::size_t bytes) {
  arrived_.wait(lock, [&] { return over_ || buffer_.size() >= bytes; });
  return buffer_.size() >= bytes;
}

std::optional<std::string> ObjectDialogue::ask(const std::string& id, std::string_view type,
                                               std::size_t limit) {
  if (broken_) return std::nullopt;
  broken_ = true;
  if (!send(id + "\n")) return std::nullopt;
  std::unique_lock lock(mutex_);
  std::size_t end = buffer_.find('\n');
  while (end == std::string::npos) {
    if (buffer_.size() > kMostHead || !wait(lock, buffer_.size() + 1)) return std::nullopt;
    end = buffer_.find('\n');
  }
  const std::string head = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  if (head == id + " missing") {
    broken_ = false;
    return std::nullopt;
  }
  const std::vector<std::string_view> parts = split(head, ' ');
  if (parts.size() != 3 || parts[0] != id) return std::nullopt;
  const auto size = parse_number(parts[2]);
  if (!size || *size > limit || !wait(lock, *size + 1)) return std::nullopt;
  std::string content = buffer_.substr(0, *size);
  if (buffer_[*size] != '\n') return std::nullopt;
  buffer_.erase(0, *size + 1);
  broken_ = false;
  if (parts[1] != type) return std::nullopt;
  return content;
}

}  // namespace cordon
