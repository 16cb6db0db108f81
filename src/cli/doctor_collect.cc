#include <sys/utsname.h>
#include <unistd.h>

#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "cli/doctor_check.h"
#include "cordon/probe.h"
#include "host/nested.h"
#include "host/on_path.h"
#include "host/survey.h"
#include "run/contained_run.h"
#include "run/policy_source.h"
#include "sys/landlock.h"

namespace cordon {
namespace {

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
  HostAccount account{host_settings()};
  utsname names{};
  if (::uname(&names) == 0) {
    account.system = names.sysname;
    account.machine = names.machine;
    account.release = names.release;
  }
  account.in_cordon = is_inside_cordon(caller);
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
  if (const auto probed = probe(BackendKind::Bwrap); !probed) account.bwrap_error = probed.error();
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
