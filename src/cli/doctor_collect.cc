#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>

#include "base/fd.h"
#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "cli/doctor_check.h"
#include "host/nested.h"
#include "host/on_path.h"
#include "host/survey.h"
#include "run/backends.h"
#include "run/contained_run.h"
#include "run/policy_source.h"
#include "sys/landlock.h"

namespace cordon {
namespace {

std::string read_small(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::array<char, 8192> buffer{};
  if (!file.valid()) return {};
  const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
  return got > 0 ? std::string(buffer.data(), static_cast<std::size_t>(got)) : std::string();
}

std::string unquoted(std::string_view value) {
  if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'')) {
    value = value.substr(1, value.size() - 2);
  }
  return sanitize(value);
}

void read_distribution(HostAccount& account) {
  std::string text = read_small("/etc/os-release");
  if (text.empty()) text = read_small("/usr/lib/os-release");
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, equals);
    const std::string value = unquoted(line.substr(equals + 1));
    if (key == "ID") account.distribution = value;
    if (key == "ID_LIKE") account.family = value;
    if (key == "PRETTY_NAME") account.pretty_name = value;
  }
}

void read_sysctls(HostAccount& account) {
  struct Known {
    const char* name;
    const char* path;
  };
  constexpr std::array kKnown{
      Known{"kernel.apparmor_restrict_unprivileged_userns",
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"},
      Known{"kernel.unprivileged_userns_clone", "/proc/sys/kernel/unprivileged_userns_clone"},
      Known{"user.max_user_namespaces", "/proc/sys/user/max_user_namespaces"},
  };
  for (const Known& known : kKnown) {
    std::string text = read_small(known.path);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (const auto value = parse_number(text)) account.sysctls[known.name] = *value;
  }
}

bool looks_like_a_container() {
  for (const char* path : {"/.dockerenv", "/run/.containerenv", "/run/systemd/container"}) {
    if (::access(path, F_OK) == 0) return true;
  }
  return ::getenv("container") != nullptr;
}

bool is_filtered() {
  const std::string status = read_small("/proc/self/status");
  for (const std::string_view line : split(status, '\n')) {
    if (line.starts_with("Seccomp:")) return !line.ends_with('0');
  }
  return false;
}

// A program found on PATH is a stranger: its version is asked for inside a sandbox.
std::string contained_version(const std::string& path, const Caller& caller) {
  auto policy = Policy::preset("strict");
  if (path.empty() || !policy) return {};
  RunInput input;
  input.argv = {path, "--version"};
  input.policy = std::move(*policy);
  input.policy.fs.read.push_back({"@system", {}});
  input.policy.fs.read.push_back({path, {}});
  input.cwd = "/";
  const Report report = run_contained(input, caller);
  if (!report.outcome || !report.outcome->out || exit_status(report.outcome->end) != 0) return {};
  const std::string text = report.outcome->out->text();
  return sanitize(std::string_view(text).substr(0, text.find('\n')));
}

}  // namespace

HostAccount collect_account(const Caller& caller) {
  HostAccount account;
  utsname names{};
  if (::uname(&names) == 0) {
    account.system = names.sysname;
    account.machine = names.machine;
    account.release = names.release;
  }
  read_distribution(account);
  read_sysctls(account);
  account.in_container = looks_like_a_container();
  account.in_cordon = is_inside_cordon(caller);
  account.filtered = is_filtered();
  account.uid = caller.uid;
  account.probes = native::probe_kernel();
  account.seccomp_actions = native::seccomp_actions();
  account.landlock_abi = sys::landlock_abi();
  account.landlock_errata = sys::landlock_errata();
  account.cgroup = cgroup_facts();
  account.idle_group = idle_group();
  for (const char* name : {"git", "bwrap"}) {
    const std::string path = on_path(name, caller);
    account.tools.push_back({name, path, contained_version(path, caller)});
  }
  account.executor = mxc::examine_executor(caller);
  const auto bwrap = make_backend("bwrap");
  if (const auto probed = (*bwrap)->probe(); !probed) account.bwrap_error = probed.error();
  const auto ceilings = load_ceilings({}, caller);
  if (ceilings) {
    account.ceilings = ceilings->size();
  } else {
    account.ceiling_error = ceilings.error();
  }
  account.state_directory = caller.state_directory;
  if (caller.state_directory.empty()) {
    account.state_error = setup_error("there is no home directory", 0, "set HOME");
  } else if (const auto opened = open_private_directory(caller.state_directory); !opened) {
    account.state_error = opened.error();
  }
  return account;
}

}  // namespace cordon
