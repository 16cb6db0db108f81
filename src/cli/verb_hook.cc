// cordon hook: an agent host asks before a tool call, and the answer makes it a contained one. The
// host goes on with the original call unless the answer is exactly exit status 2, so every end of
// this process that is not a complete answer is made that status.
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/text.h"
#include "cli/hook_claude.h"
#include "cli/own_executable.h"
#include "cli/talk.h"
#include "cli/verbs.h"

namespace cordon {
namespace {

constexpr int kBlocked = 2;
constexpr unsigned kPatienceSeconds = 10;
constexpr std::size_t kLongestMessage = 8U << 20U;

extern "C" void block_call(int) {
  constexpr std::string_view kLine =
      "cordon: hook: interrupted or out of time, so the call is blocked\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kLine.data(), kLine.size());
  ::_exit(kBlocked);
}

// A death by signal is no exit status 2, and the host would run the command uncontained.
void turn_deaths_into_refusals() {
  struct sigaction action {};
  action.sa_handler = block_call;
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV,
                           SIGPIPE, SIGALRM, SIGTERM, SIGXCPU, SIGXFSZ, SIGSYS}) {
    ::sigaction(signal, &action, nullptr);
  }
  ::alarm(kPatienceSeconds);
}

Result<std::string> read_message() {
  std::string message;
  std::array<char, 65536> part{};
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(setup_error("cannot read the message of the host", errno));
    if (count == 0) return message;
    message.append(part.data(), static_cast<std::size_t>(count));
    if (message.size() > kLongestMessage) {
      return fail(usage_error("the message of the host is longer than 8 MiB"));
    }
  }
}

// The line that `cordon hook` was given, as a line of `cordon run`.
Result<std::vector<std::string>> contained_line(const Arguments& arguments) {
  CORDON_TRY(executable, own_executable());
  std::vector<std::string> words{executable, "run"};
  for (const GivenFlag& flag : arguments.flags) {
    words.push_back(std::string(flag.name) + "=" + std::string(flag.value));
  }
  words.emplace_back("--");
  for (const std::string& word : words) {
    // It travels as JSON, which has no form for other bytes.
    if (!is_valid_utf8(word)) return fail(usage_error(quote(word) + " is not UTF-8"));
  }
  return words;
}

Result<std::string> judge(const Arguments& arguments) {
  CORDON_TRY(contain, contained_line(arguments));
  CORDON_TRY(message, read_message());
  return judge_claude_call(message, contain);
}

}  // namespace

int verb_hook_claude(const Arguments& arguments) {
  turn_deaths_into_refusals();
  const auto answer = judge(arguments);
  if (!answer) {
    std::string line = message(answer.error());
    if (!answer.error().hint.empty()) line.append("; ").append(answer.error().hint);
    say("cordon: hook: " + sanitize(line) + "\n");
    return kBlocked;
  }
  return say_answer(*answer) ? kAnswerYes : kBlocked;
}

}  // namespace cordon
