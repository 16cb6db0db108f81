#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "host/look.h"
#include "host/resolve.h"

namespace cordon {
namespace {

struct Account {
  std::string name;
  std::string home;
};

// Only the local file: a name service would load modules and open sockets before the launch.
std::optional<Account> account_of(std::uint32_t uid) {
  const std::optional<std::string> passwd = read_regular(AT_FDCWD, "/etc/passwd", kPasswdLimit);
  if (!passwd) return std::nullopt;
  for (const std::string_view line : split(*passwd, '\n')) {
    const std::vector<std::string_view> fields = split(line, ':');
    if (fields.size() < 7) continue;
    if (parse_number(fields[2]) != std::uint64_t{uid}) continue;
    return Account{std::string(fields[0]), std::string(fields[5])};
  }
  return std::nullopt;
}

std::map<std::string, std::string> read_environment() {
  std::map<std::string, std::string> result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    result.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return result;
}

// An absolute path from a variable; anything else counts as unset, as the XDG rules want it.
std::string absolute_variable(const Caller& caller, const char* name) {
  const auto found = caller.environment.find(name);
  if (found == caller.environment.end() || found->second.empty()) return {};
  if (found->second.front() != '/' || found->second.size() >= PATH_MAX) return {};
  return normalize(found->second);
}

void add_home(Caller& caller, const std::string& written) {
  if (written.empty() || written.front() != '/') return;
  const Result<Canonical> found = canonicalize(written, "/", caller);
  if (!found) return;
  if (std::find(caller.homes.begin(), caller.homes.end(), found->path) == caller.homes.end())
    caller.homes.push_back(found->path);
}

std::string cordon_directory(const std::string& directory, std::string_view home,
                             std::string_view fallback) {
  if (!directory.empty()) return join(directory, "cordon");
  if (home.empty()) return {};
  return join(join(home, fallback), "cordon");
}

}  // namespace

Result<Caller> identify_caller() {
  Caller caller;
  caller.uid = ::getuid();
  caller.gid = ::getgid();
  caller.environment = read_environment();

  std::array<char, PATH_MAX> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  if (::getcwd(buffer.data(), buffer.size()) == nullptr)
    return fail(setup_error("the current directory cannot be named", errno,
                            "change into a directory that exists and that you may enter"));
  caller.cwd = buffer.data();
  if (caller.cwd.front() != '/')  // "(unreachable)": outside of this root
    return fail(
        setup_error("the current directory lies outside of the root", 0, "change directory"));

  const std::optional<Account> account = account_of(caller.uid);
  if (account) caller.user = account->name;
  if (caller.user.empty()) caller.user = "user";
  add_home(caller, absolute_variable(caller, "HOME"));
  if (account) {
    add_home(caller, account->home);
    if (account->home.starts_with('/'))
      if (const Result<Canonical> found = canonicalize(account->home, "/", caller))
        caller.account_home = found->path;
  }
  if (!caller.homes.empty()) caller.home = caller.homes.front();

  caller.config_directory =
      cordon_directory(absolute_variable(caller, "XDG_CONFIG_HOME"), caller.home, ".config");
  caller.state_directory =
      cordon_directory(absolute_variable(caller, "XDG_STATE_HOME"), caller.home, ".local/state");
  const std::string runtime = absolute_variable(caller, "XDG_RUNTIME_DIR");
  if (!runtime.empty())
    caller.runtime_directory = join(runtime, "cordon");
  else if (!caller.state_directory.empty())
    caller.runtime_directory = join(caller.state_directory, "run");

  const std::optional<std::string> executable = read_link(AT_FDCWD, "/proc/self/exe");
  if (executable) caller.executable = *executable;
  return caller;
}

}  // namespace cordon
