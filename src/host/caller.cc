#include "host/caller.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "host/inspect.h"
#include "host/private_file.h"
#include "host/resolve.h"
#include "sys/ids.h"

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

void add_name(Caller& caller, const Canonical& found) {
  if (found.lexical == found.path) return;
  LinkedName one{found.lexical, found.path};
  // Of /home/alex and /disk/home/alex the link is /home.
  while (basename(one.name) == basename(one.path) && parent(one.name) != "/" &&
         parent(one.path) != "/") {
    const Result<Canonical> above = canonicalize(parent(one.name), "/", caller);
    if (!above || above->path != parent(one.path)) break;
    one = {std::string(parent(one.name)), std::string(parent(one.path))};
  }
  caller.names.push_back(std::move(one));
}

void add_home(Caller& caller, const std::string& written) {
  if (written.empty() || written.front() != '/') return;
  const Result<Canonical> found = canonicalize(written, "/", caller);
  if (!found) return;
  add_name(caller, *found);
  if (std::find(caller.homes.begin(), caller.homes.end(), found->path) == caller.homes.end())
    caller.homes.push_back(found->path);
}

// The shell's name for the current directory, if it still is that.
void add_logical_cwd(Caller& caller) {
  const std::string written = absolute_variable(caller, "PWD");
  if (written.empty() || written == caller.cwd) return;
  const Result<Canonical> found = canonicalize(written, "/", caller);
  if (found && found->path == caller.cwd) add_name(caller, *found);
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
  caller.may_empty_bounding_set = sys::may_empty_bounding_set();
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
  add_logical_cwd(caller);

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

namespace {

constexpr std::size_t kLargest = std::size_t{64} * 1024;

Error refused_login(const std::string& login, const std::string& why, std::string hint,
                    int number = 0) {
  Error error = policy_error("the login ~/" + login + " cannot be shared: " + why, std::move(hint));
  error.error_number = number;
  return error;
}

// Where, behind `text`, the member's value begins, blanks left out; nothing if there is no such
// member. A key in a string of another member would be taken for it: then the token cannot be read,
// which says so.
std::optional<std::string_view> value_behind(std::string_view text, std::string_view key) {
  const std::size_t at = text.find("\"" + std::string(key) + "\"");
  if (at == std::string_view::npos) return std::nullopt;
  const auto skip_blanks = [&] {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  };
  text.remove_prefix(at + key.size() + 2);
  skip_blanks();
  if (!text.starts_with(':')) return std::nullopt;
  text.remove_prefix(1);
  skip_blanks();
  return text;
}

bool holds_string(std::string_view text, std::string_view pointer) {
  for (const std::string_view key : split(pointer.substr(1), '/')) {
    const auto value = value_behind(text, key);
    if (!value) return false;
    text = *value;
    if (pointer.ends_with(key)) return text.size() > 1 && text[0] == '"' && text[1] != '"';
    if (!text.starts_with('{')) return false;
  }
  return false;
}

Result<std::string> read_login(const std::string& login, const Caller& caller) {
  const Fd home = open_canonical(caller.home, O_PATH | O_DIRECTORY | O_CLOEXEC);
  // Non-blocking: a FIFO under this name would stop the launch for ever.
  const Fd file = open_beneath(home.get(), login, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (!file.valid()) {
    const int why = errno;
    if (why == ELOOP) {
      return fail(refused_login(login, "a symlink leads to it", "put the file itself there"));
    }
    return fail(refused_login(login, "it cannot be opened",
                              "log in outside first, or drop share_login and log in inside", why));
  }
  const std::optional<FileInfo> seen = inspect_fd(file.get());
  if (!seen || seen->kind != FileKind::Regular) {
    return fail(refused_login(login, "it is not a regular file", ""));
  }
  if (seen->owner != caller.uid) {
    return fail(refused_login(login, "it belongs to another user", "log in as yourself"));
  }
  if ((seen->mode & kOthersMayWrite) != 0) {
    return fail(refused_login(login, "others may write it", "chmod 600 ~/" + login));
  }
  std::optional<std::string> content = read_all(file.get(), kLargest);
  if (!content || content->empty()) {
    return fail(refused_login(login, "it is empty or larger than 64 KiB", "log in anew outside"));
  }
  return *std::move(content);
}

}  // namespace

Result<LoginCopy> copy_login(const std::string& login, const Caller& caller, int private_home) {
  const std::size_t slash = login.find('/');
  const std::string directory = login.substr(0, slash);
  const std::string name = login.substr(slash + 1);
  const std::string hint = "remove it from the private home of this project in Cordon's state";
  if (::mkdirat(private_home, directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(setup_error("cannot make " + quote(directory) + " in the private home", errno));
  }
  const Fd place =
      open_beneath(private_home, directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (!place.valid()) {
    return fail(
        setup_error(quote(directory) + " in the private home is not a directory", errno, hint));
  }
  if (inspect_name(place.get(), name)) return LoginCopy::Kept;
  CORDON_TRY(content, read_login(login, caller));
  const int error = put_file(place.get(), name, content, kOwnerOnlyFile);
  if (error == EEXIST) return LoginCopy::Kept;
  if (error != 0) return fail(setup_error("cannot copy the login ~/" + login, error));
  return LoginCopy::Made;
}

KeptLogin kept_login(const AgentNeeds& agent, const Caller& caller) {
  const auto moved = caller.environment.find(std::string(agent.kept.moved_by));
  const bool elsewhere = moved != caller.environment.end() && !moved->second.empty();
  if (agent.kept.pointer.empty() || caller.home.empty() || elsewhere) return KeptLogin::None;
  const Fd home = open_canonical(caller.home, O_PATH | O_DIRECTORY | O_CLOEXEC);
  const Fd file =
      open_beneath(home.get(), std::string(agent.login), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const auto seen = file.valid() ? inspect_fd(file.get()) : std::nullopt;
  if (!seen || seen->kind != FileKind::Regular || seen->owner != caller.uid ||
      (seen->mode & kOthersMayWrite) != 0)
    return KeptLogin::None;
  std::array<char, kLargest> text;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  const bool usable =
      got > 0 && holds_string({text.data(), static_cast<std::size_t>(got)}, agent.kept.pointer);
  ::explicit_bzero(text.data(), text.size());
  return usable ? KeptLogin::Usable : KeptLogin::None;
}

}  // namespace cordon
