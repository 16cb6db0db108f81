#include "faces/cli/pager.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <vector>

#include "faces/cli/console.h"

namespace cordon {
namespace {

constexpr const char* kSystemPath = "PATH=/usr/local/bin:/usr/bin:/bin";

std::string chosen_pager() {
  const char* named = std::getenv("PAGER");
  if (named != nullptr) return named;
  for (const char* program : {"/usr/bin/less", "/usr/bin/more", "/bin/more"})
    if (::access(program, X_OK) == 0) return program;
  return {};
}

// The caller's, with the system's directories to look programs up in. less ends by itself if it all
// fits the screen, and lets colours through.
std::vector<std::string> pager_environment() {
  std::vector<std::string> variables{kSystemPath};
  bool has_options = false;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view variable(*one);
    if (variable.starts_with("PATH=")) continue;
    has_options = has_options || variable.starts_with("LESS=");
    variables.emplace_back(variable);
  }
  if (!has_options) variables.emplace_back("LESS=FRX");
  return variables;
}

}  // namespace

Pager::Pager(Use use) {
  winsize window{};
  if (use == Use::Never || ::isatty(STDOUT_FILENO) != 1 ||
      ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_row == 0)
    return;
  most_lines_ = window.ws_row;
  program_ = chosen_pager();
  if (program_ == "cat") program_.clear();
}

void Pager::start() {
  const std::string program = std::move(program_);
  program_.clear();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  std::vector<std::string> variables = pager_environment();
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  std::string shell = "sh";
  std::string option = "-c";
  std::string line = program;
  char* words[] = {shell.data(), option.data(), line.data(), nullptr};
  posix_spawn_file_actions_t actions;
  if (::posix_spawn_file_actions_init(&actions) != 0) return;
  (void)::posix_spawn_file_actions_adddup2(&actions, read_end.get(), STDIN_FILENO);
  pid_t process = -1;
  const int error =
      ::posix_spawn(&process, "/bin/sh", &actions, nullptr, words, environment.data());
  (void)::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return;
  process_ = process;
  pipe_ = std::move(write_end);
  // Its end is told by the write that fails; a key that interrupts is the pager's.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGINT, SIG_IGN);
}

Pager::~Pager() {
  if (!kept_.empty()) (void)say_answer(kept_);
  if (process_ < 0) return;
  pipe_.reset();
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::signal(SIGINT, SIG_DFL);
}

int Pager::terminal() const { return STDOUT_FILENO; }

bool Pager::say(std::string_view text) {
  if (!program_.empty()) {
    kept_.append(text);
    lines_ += static_cast<std::size_t>(std::ranges::count(text, '\n'));
    if (lines_ < most_lines_) return true;
    start();
    const std::string all = std::move(kept_);
    kept_.clear();
    return is_started() ? write_all(pipe_.get(), all) : say_answer(all);
  }
  return is_started() ? write_all(pipe_.get(), text) : say_answer(text);
}

}  // namespace cordon
