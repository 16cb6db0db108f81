#include <algorithm>
#include <array>

#include "base/text.h"
#include "faces/cli/help_text.h"
#include "faces/doctor/doctor_check.h"
#include "plan/limits.h"
#include "run/choose.h"

namespace cordon {
namespace {

// Which checks of `cordon doctor` fail for one and the same reason. A host that refuses user
// namespaces fails a dozen checks, and a person who reads twelve cures looks for twelve troubles.

bool is_trouble(const Check& check) { return check.status != CheckStatus::Pass; }

// A check that is to be cured by itself: neither passed nor explained by another.
bool is_cause(const Check& check) { return is_trouble(check) && check.cause.empty(); }

// What stops every run, in the order in which a run meets it.
const Check* stops_every_run(const std::vector<Check>& checks) {
  constexpr std::array kOrder{CheckCategory::Config, CheckCategory::Security,
                              CheckCategory::System};
  for (const CheckCategory category : kOrder) {
    for (const Check& check : checks) {
      if (check.category != category || check.status != CheckStatus::Fail) continue;
      if (check.evidence == Evidence::Tried && check.cause.empty()) return &check;
    }
  }
  return nullptr;
}

// The first of those with this cure that are as bad as any of them.
const Check& first_with(const std::vector<Check>& checks, const Check& like) {
  const Check* first = &like;
  for (const Check& check : checks) {
    if (!is_trouble(check) || check.cure != like.cure) continue;
    const bool worse = check.status == CheckStatus::Fail && first->status == CheckStatus::Warn;
    const bool earlier = check.status == first->status && &check < first;
    if (worse || earlier) first = &check;
  }
  return *first;
}

}  // namespace

void find_causes(std::vector<Check>& checks) {
  const auto nested = std::ranges::find(checks, kNestedCheck, &Check::name);
  if (nested != checks.end()) {
    for (Check& check : checks) {
      if (is_trouble(check) && &check != &*nested) check.cause = nested->name;
    }
    return;
  }
  for (Check& check : checks) {
    if (!is_cause(check)) continue;
    const Check& first = first_with(checks, check);
    if (&first != &check) check.cause = first.name;
  }
  const Check* stopped_by = stops_every_run(checks);
  if (stopped_by == nullptr) return;
  for (Check& check : checks) {
    if (is_trouble(check) && check.evidence == Evidence::NotStarted) check.cause = stopped_by->name;
  }
}

std::string cure_of(const Error& error, std::string otherwise) {
  // Errors of a run send people here; in here they would send them round in a circle.
  const bool circle = error.hint.find("cordon doctor") != std::string::npos;
  return error.hint.empty() || circle ? std::move(otherwise) : error.hint;
}

namespace {

Check make(CheckCategory category, std::string name, CheckStatus status, std::string message,
           std::string cure) {
  if (status == CheckStatus::Pass) cure.clear();
  return {category, std::move(name), status, std::move(message), std::move(cure)};
}

CheckStatus pass_or(CheckStatus otherwise, bool good) {
  return good ? CheckStatus::Pass : otherwise;
}

Check platform(const HostAccount& account) {
  const bool good = account.system == "Linux";
  return make(
      CheckCategory::System, "platform", pass_or(CheckStatus::Fail, good),
      account.system + (account.pretty_name.empty() ? "" : " (" + account.pretty_name + ")"),
      "supported platforms: Linux");
}

Check architecture(const HostAccount& account) {
  const bool known = account.machine == "aarch64" || account.machine == "x86_64";
  const bool proven = architecture_is_proven(account.machine);
  return make(CheckCategory::System, "architecture", pass_or(CheckStatus::Fail, known),
              account.machine + (known && !proven ? " (unproven: no suite ran on it)" : ""),
              "supported architectures: aarch64, x86_64");
}

Check kernel(const HostAccount& account) {
  return make(CheckCategory::System, "kernel", CheckStatus::Pass, account.release, "");
}

Check cgroup(const HostAccount& account) {
  if (account.cgroup.version == CgroupFacts::Version::None) {
    return make(CheckCategory::System, "cgroup", CheckStatus::Warn,
                account.uid == 0 ? "no group may be made: processes and memory are watched"
                                 : "no group may be made: pids are held by an rlimit and memory is "
                                   "watched",
                cgroup_cure(account, account.idle_group));
  }
  std::string message = account.cgroup.version == CgroupFacts::Version::V2 ? "v2: " : "v1: ";
  const char* separator = "";
  for (const auto& [controller, directory] : account.cgroup.parents) {
    message.append(separator).append(controller);
    separator = ", ";
  }
  const bool complete =
      account.cgroup.parents.contains("pids") && account.cgroup.parents.contains("memory");
  return make(CheckCategory::System, "cgroup", pass_or(CheckStatus::Warn, complete),
              message + (complete ? ", groups may be made" : ", not for pids and memory"),
              cgroup_cure(account, account.idle_group));
}

// Bubblewrap needs of the host what native does.
bool native_works(const HostAccount& account) {
  return std::ranges::all_of(account.probes, [](const native::Probe& probe) {
    return probe.ok || !native::is_required(probe);
  });
}

Check tool(const HostAccount& account, const ToolFound& found) {
  const bool there = !found.path.empty();
  std::string message = there ? found.path : "not installed (optional)";
  if (!found.version.empty()) message.append(", ").append(found.version);
  if (there && found.name == "bwrap" && account.bwrap_error) {
    Check check =
        make(CheckCategory::System, found.name, CheckStatus::Warn,
             message + ", no use as a backend (optional): " + cordon::message(*account.bwrap_error),
             cure_of(*account.bwrap_error, "use --backend native"));
    if (!native_works(account)) check.evidence = Evidence::NotStarted;
    return check;
  }
  return make(CheckCategory::System, found.name, pass_or(CheckStatus::Warn, there),
              std::move(message),
              install_line(account, found.name == "bwrap" ? "bubblewrap" : found.name));
}

Check kernel_probe(const HostAccount& account, const native::Probe& probe) {
  const CheckStatus bad = native::is_required(probe) ? CheckStatus::Fail : CheckStatus::Warn;
  std::string message = probe.detail;
  if (probe.name == "landlock" && probe.ok) {
    message = "ABI " + std::to_string(account.landlock_abi);
    std::string errata;
    for (unsigned bit = 0; bit < 32; ++bit) {
      if ((account.landlock_errata >> bit & 1U) == 0) continue;
      errata.append(errata.empty() ? "" : " ").append(std::to_string(bit + 1));
    }
    message.append(errata.empty() ? ", no errata known to be fixed" : ", errata fixed: " + errata);
  }
  return make(CheckCategory::Security, probe.name, pass_or(bad, probe.ok), std::move(message),
              probe.ok ? "" : cure_for(probe, account.probes, account));
}

Check seccomp_actions_check(const HostAccount& account) {
  std::string available;
  std::string missing;
  bool required = true;
  for (const native::SeccompAction& action : account.seccomp_actions) {
    std::string& list = action.available ? available : missing;
    list.append(list.empty() ? "" : " ").append(action.name);
    const bool needed =
        action.name == "kill-process" || action.name == "errno" || action.name == "allow";
    if (needed && !action.available) required = false;
  }
  if (!required) {
    return make(CheckCategory::Security, "seccomp-actions", CheckStatus::Fail,
                "missing: " + missing, "use Linux 4.14 or newer with CONFIG_SECCOMP_FILTER=y");
  }
  return make(CheckCategory::Security, "seccomp-actions",
              pass_or(CheckStatus::Warn, missing.empty()),
              missing.empty() ? available : available + "; missing: " + missing,
              "use a newer kernel: the missing actions serve network allow-lists and diagnosis");
}

std::string sentences(const std::vector<Loss>& losses) {
  std::string text;
  for (const Loss loss : losses) {
    text.append(text.empty() ? "" : "; ").append(name_of(loss)).append(": ");
    text.append(sentence_of(loss));
  }
  return text;
}

Check residual_gaps(const HostAccount& account) {
  const std::string older = sentences(landlock_losses(account.landlock_abi));
  const std::string always = "Landlock has no rules for UDP (the network namespace holds it)";
  return make(CheckCategory::Security, "residual-gaps", pass_or(CheckStatus::Warn, older.empty()),
              older.empty() ? always : always + "; " + older,
              "use Linux 6.12 or newer, whose Landlock is a second layer for all of it");
}

// The tier below native, for hosts that refuse namespaces.
Check landlock_tier(const HostAccount& account) {
  const auto works = [&](std::string_view name) {
    return std::ranges::any_of(
        account.probes, [&](const native::Probe& probe) { return probe.name == name && probe.ok; });
  };
  const bool contains = account.landlock_abi >= kAbiWithScopes && works("no-new-privileges") &&
                        works("landlock") && works("seccomp") && works("seccomp-listener");
  const bool native = native_works(account);
  std::string message = "needs Landlock ABI 6 and seccomp listeners";
  if (contains && native) message = "--backend landlock would do here too, and holds less";
  if (contains && !native) {
    message =
        "--backend landlock contains here without namespaces, where a ceiling accepts that: "
        "[require] accept_missing = [\"namespaces\"]; it does not hold " +
        sentences(namespace_losses(NetMode::None));
  }
  return make(CheckCategory::Security, "backend-landlock", pass_or(CheckStatus::Warn, contains),
              std::move(message), "use Linux 6.12 or newer with lsm=landlock,...");
}

Check ceilings(const HostAccount& account) {
  if (account.ceiling_error) {
    return make(
        CheckCategory::Config, "ceiling", CheckStatus::Fail, message(*account.ceiling_error),
        account.ceiling_error->hint.empty() ? "correct the file" : account.ceiling_error->hint);
  }
  return make(CheckCategory::Config, "ceiling", CheckStatus::Pass,
              account.ceilings == 0 ? "none: a run is bounded by its policy alone"
                                    : std::to_string(account.ceilings) + " in force",
              "");
}

Check state_directory(const HostAccount& account) {
  if (account.state_error) {
    return make(CheckCategory::Config, "state-directory", CheckStatus::Fail,
                message(*account.state_error),
                account.state_error->hint.empty()
                    ? "make it a directory of your own with mode 0700, or set XDG_STATE_HOME"
                    : account.state_error->hint);
  }
  return make(CheckCategory::Config, "state-directory", CheckStatus::Pass, account.state_directory,
              "");
}

Check gate_check(const HostAccount& account) {
  if (account.gate_error) {
    return make(CheckCategory::Config, "gate", CheckStatus::Warn,
                "no run with rules for requests or a key outside: " + message(*account.gate_error),
                cure_of(*account.gate_error, "install cordon-gate beside cordon"));
  }
  return make(CheckCategory::Config, "gate", CheckStatus::Pass,
              "starts; servers are judged by " + account.trust_store, "");
}

Check agent_key(const HostAccount::AgentFound& agent) {
  const std::string name = "key-of-" + agent.name;
  if (!agent.key) {
    const Error& error = agent.key.error();
    return make(CheckCategory::Config, name, CheckStatus::Warn, message(error),
                cure_of(error, "correct the ceiling"));
  }
  return make(CheckCategory::Config, name,
              pass_or(CheckStatus::Warn, agent.key->where == KeyPlace::Where::Outside),
              agent.key->what, agent.key->change);
}

Check nested() {
  return make(
      CheckCategory::System, std::string(kNestedCheck), CheckStatus::Fail,
      "this is already inside a Cordon sandbox, and sandboxes are not nested",
      "ask outside of it what this host can enforce; inside, start commands without cordon");
}

}  // namespace

std::string_view name_of(CheckCategory category) {
  switch (category) {
    case CheckCategory::System:
      return "system";
    case CheckCategory::Security:
      return "security";
    case CheckCategory::Config:
      return "config";
  }
  return "";
}

std::string_view name_of(CheckStatus status) {
  switch (status) {
    case CheckStatus::Pass:
      return "pass";
    case CheckStatus::Warn:
      return "warn";
    case CheckStatus::Fail:
      return "fail";
  }
  return "";
}

std::vector<Check> judge_account(const HostAccount& account) {
  std::vector<Check> checks{platform(account), architecture(account), kernel(account),
                            cgroup(account)};
  for (const ToolFound& found : account.tools) checks.push_back(tool(account, found));
  for (const native::Probe& probe : account.probes) {
    checks.push_back(kernel_probe(account, probe));
  }
  checks.push_back(seccomp_actions_check(account));
  checks.push_back(residual_gaps(account));
  checks.push_back(landlock_tier(account));
  checks.push_back(ceilings(account));
  checks.push_back(state_directory(account));
  checks.push_back(gate_check(account));
  for (const HostAccount::AgentFound& agent : account.agents) checks.push_back(agent_key(agent));
  for (const LoginShared& shared : account.shared_logins) {
    checks.push_back(
        make(CheckCategory::Config, "shared-login", CheckStatus::Warn, shared.what, shared.change));
  }
  if (account.executor) checks.push_back(judge_executor(*account.executor));
  if (account.in_cordon) checks.insert(checks.begin(), nested());
  return checks;
}

}  // namespace cordon
