// Picks the attempt by name, or runs a batch of them, each in a child of its own.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>

#include "probe.h"

namespace probe {

long number(const std::string& text) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 0);
  if (text.empty() || *end != '\0') {
    std::fprintf(stderr, "probe: not a number: %s\n", text.c_str());
    std::exit(2);
  }
  return value;
}

std::string read_whole(const std::string& path) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = read(fd, buffer, sizeof buffer)) > 0 && text.size() < 65536) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  close(fd);
  return text;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", byte);
      out += code;
    } else {
      out += c;
    }
  }
  return out;
}

namespace {

// An attempt that hangs is a finding, not a wait. An emulated machine makes three thousand files in
// half a minute.
constexpr unsigned kAttemptSeconds = 90;

const Attempt* find(std::string_view name) {
  for (const auto& group : {file_attempts(), process_attempts(), kernel_attempts(),
                            socket_attempts(), limit_attempts(), terminal_attempts()}) {
    for (const Attempt& attempt : group) {
      if (attempt.name == name) return &attempt;
    }
  }
  return nullptr;
}

void list_attempts() {
  for (const auto& group : {file_attempts(), process_attempts(), kernel_attempts(),
                            socket_attempts(), limit_attempts(), terminal_attempts()}) {
    for (const Attempt& attempt : group) {
      std::printf("%s %s\n", std::string(attempt.name).c_str(), std::string(attempt.usage).c_str());
    }
  }
}

std::string error_name(int error) {
  if (error == 0) return "null";
  const char* name = strerrorname_np(error);
  return std::string("\"") + (name != nullptr ? name : "E?") + "\"";
}

void print(std::string_view name, const Verdict& verdict) {
  const std::string line = "{\"attempt\":\"" + escaped(name) +
                           "\",\"ok\":" + (verdict.ok ? "true" : "false") +
                           ",\"errno\":" + error_name(verdict.error) + ",\"detail\":\"" +
                           escaped(verdict.detail) + "\"}\n";
  std::size_t sent = 0;
  while (sent < line.size()) {
    const ssize_t n = write(STDOUT_FILENO, line.data() + sent, line.size() - sent);
    if (n <= 0) std::exit(3);
    sent += static_cast<std::size_t>(n);
  }
}

int run_one(const std::string& name, const Arguments& arguments) {
  const Attempt* attempt = find(name);
  if (attempt == nullptr || arguments.size() < attempt->needs) {
    std::fprintf(stderr, "usage: probe %s %s\n", name.c_str(),
                 attempt == nullptr ? "(no such attempt)" : std::string(attempt->usage).c_str());
    return 2;
  }
  const Verdict verdict = attempt->run(arguments);
  print(name, verdict);
  return verdict.ok ? 0 : 1;
}

Arguments split(const std::string& line) {
  Arguments words;
  std::size_t begin = 0;
  while (true) {
    const std::size_t tab = line.find('\t', begin);
    words.push_back(line.substr(begin, tab == std::string::npos ? tab : tab - begin));
    if (tab == std::string::npos) return words;
    begin = tab + 1;
  }
}

// Runs one line in a child, so that an attempt that is killed or changes itself harms no other.
void run_line(const Arguments& words) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kAttemptSeconds);
    _exit(run_one(words[0], Arguments(words.begin() + 1, words.end())));
  }
  if (child < 0) {
    print(words[0], refused("fork"));
    return;
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    print(words[0], {false, 0, std::string("killed by SIG") + sigabbrev_np(WTERMSIG(status))});
  } else if (WEXITSTATUS(status) > 1) {
    print(words[0], {false, 0, "bad use"});
  }
}

int run_batch(const std::string& path) {
  std::ifstream file;
  if (path != "-") file.open(path);
  std::istream& input = path == "-" ? std::cin : file;
  std::vector<Arguments> lines;
  for (std::string line; std::getline(input, line);) {
    if (!line.empty()) lines.push_back(split(line));
  }
  for (const Arguments& words : lines) run_line(words);
  return 0;
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  const probe::Arguments words(argv + std::min(argc, 1), argv + argc);
  if (words.empty()) {
    probe::list_attempts();
    return 2;
  }
  if (words[0] == "batch" && words.size() == 2) return probe::run_batch(words[1]);
  return probe::run_one(words[0], probe::Arguments(words.begin() + 1, words.end()));
}
