#include "mcp_peer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "sampling.h"

namespace bench {
namespace {

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "mcp_bench: %s\n", why.c_str());
  std::exit(1);
}

}  // namespace

McpPeer::McpPeer(const std::string& cordon, const std::vector<std::string>& options,
                 const std::string& directory, const std::string& home) {
  int down[2];
  int up[2];
  if (::pipe2(down, O_CLOEXEC) < 0 || ::pipe2(up, O_CLOEXEC) < 0) give_up("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, down[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, up[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  std::vector<std::string> words{cordon, "mcp"};
  words.insert(words.end(), options.begin(), options.end());
  std::vector<std::string> variables{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C", "HOME=" + home,
                                     "CORDON_ENABLE_RUN_CODE=1"};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  if (::posix_spawn(&pid_, cordon.c_str(), &actions, nullptr, argv.data(), environment.data()) !=
      0) {
    give_up("cannot start " + cordon);
  }
  posix_spawn_file_actions_destroy(&actions);
  ::close(down[0]);
  ::close(up[1]);
  to_ = down[1];
  from_ = up[0];
}

McpPeer::~McpPeer() {
  ::close(to_);
  ::waitpid(pid_, nullptr, 0);
  ::close(from_);
}

unsigned McpPeer::begin(const std::string& method, const std::string& params) {
  const std::string line =
      fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"{}","params":{{{}{}"_meta":{{)"
                  R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                  R"("io.modelcontextprotocol/clientCapabilities":{{}}}}}}}})"
                  "\n",
                  ++last_id_, method, params, params.empty() ? "" : ",");
  if (::write(to_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    give_up("the server does not take a request");
  }
  return last_id_;
}

std::string McpPeer::next() {
  for (;;) {
    const std::size_t end = read_.find('\n');
    if (end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    char part[16384];
    const ssize_t count = ::read(from_, part, sizeof part);
    if (count <= 0) give_up("the server ended");
    read_.append(part, static_cast<std::size_t>(count));
  }
}

double McpPeer::round_trip(const std::string& method, const std::string& params) {
  const double start = now();
  begin(method, params);
  const std::string answer = next();
  const double took = now() - start;
  const bool good =
      method == "tools/call" ? succeeded(answer) : answer.find("\"result\"") != std::string::npos;
  if (!good) give_up("an answer is an error: " + answer);
  return took;
}

std::string McpPeer::run_true() { return R"("name":"run_code","arguments":{"argv":["true"]})"; }

bool succeeded(const std::string& answer) {
  // The result is JSON inside a JSON string.
  return answer.find(R"(\"exit_code\":0,)") != std::string::npos;
}

}  // namespace bench
