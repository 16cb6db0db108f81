#include "host/on_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "base/path.h"
#include "base/text.h"
#include "host/look.h"

namespace cordon {
namespace {

constexpr std::array kAgents{"aider", "amp",    "claude", "codex",    "copilot", "cursor-agent",
                             "droid", "gemini", "goose",  "opencode", "qwen"};

bool is_program(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string on_path(const std::string& name, const Caller& caller) {
  const auto path = caller.environment.find("PATH");
  if (path == caller.environment.end()) return {};
  for (const std::string_view directory : split(path->second, ':')) {
    if (directory.empty() || directory.front() != '/') continue;
    std::string candidate = join(directory, name);
    if (is_program(candidate)) return candidate;
  }
  return {};
}

bool is_directory_on_path(FileId id, const Caller& caller) {
  const auto path = caller.environment.find("PATH");
  if (path == caller.environment.end()) return false;
  for (const std::string_view directory : split(path->second, ':')) {
    if (!directory.starts_with('/')) continue;
    struct stat status {};
    if (::stat(std::string(directory).c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
        looked(status).id == id) {
      return true;
    }
  }
  return false;
}

std::vector<FoundAgent> find_agents(const Caller& caller) {
  std::vector<FoundAgent> found;
  for (const char* name : kAgents) {
    if (std::string path = on_path(name, caller); !path.empty()) {
      found.push_back({name, std::move(path)});
    }
  }
  return found;
}

}  // namespace cordon
