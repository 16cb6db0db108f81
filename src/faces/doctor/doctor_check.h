// The checks of `cordon doctor`. What was found on the host is a value (HostAccount), judging it is
// pure, so that every verdict can be shown by a test without such a host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compat/mxc/executor/examine.h"
#include "host/cgroup.h"
#include "host/host_settings.h"
#include "policy/host_facts.h"
#include "run/key_place.h"
#include "sandbox/backend.h"
#include "sandbox/native/probe.h"

namespace cordon {

enum class CheckCategory { System, Security, Config };
enum class CheckStatus { Pass, Warn, Fail };
// Whether the thing itself was tried, or something before it did not work.
enum class Evidence { Tried, NotStarted };

struct Check {
  CheckCategory category = CheckCategory::System;
  std::string name;
  CheckStatus status = CheckStatus::Fail;
  std::string message;
  std::string cure;  // what to change; empty if it passed
  Evidence evidence = Evidence::Tried;
  std::string cause = {};  // the check that fails for the same reason and says it; empty: this one
};

// The check that is there only inside a Cordon sandbox, where it explains all others.
inline constexpr std::string_view kNestedCheck = "nested";

struct ToolFound {
  std::string name;
  std::string path;  // empty: not on PATH
  std::string version;
};

struct HostAccount : HostSettings {
  std::string system;      // uname: "Linux"
  std::string machine;     // "aarch64"
  std::string release;     // "6.1.0"
  bool in_cordon = false;  // inside a sandbox of Cordon's own
  std::vector<native::Probe> probes;
  std::vector<native::SeccompAction> seccomp_actions;
  int landlock_abi = 0;
  std::uint32_t landlock_errata = 0;
  CgroupFacts cgroup;
  std::optional<IdleGroup> idle_group;
  std::vector<ToolFound> tools;
  std::optional<mxc::ExecutorAccount> executor;
  std::optional<Error> bwrap_error;  // why the backend bwrap cannot be used, if it cannot
  std::optional<Error> ceiling_error;
  std::size_t ceilings = 0;
  std::optional<Error> state_error;
  std::string state_directory;
  std::string trust_store;          // that servers of rules for requests are judged by
  std::optional<Error> gate_error;  // why no run with rules for requests could begin
  struct AgentFound {
    std::string name;
    Result<KeyPlace> key;
  };
  std::vector<AgentFound> agents;
  std::vector<LoginShared> shared_logins;
};

HostAccount collect_account(const Caller& caller);

// Every check but the live ones, in the order in which they are shown.
std::vector<Check> judge_account(const HostAccount& account);
Check judge_executor(const mxc::ExecutorAccount& executor);
// Runs the probes of doctor_inside.cc in real sandboxes, each beside a control that must succeed.
std::vector<Check> live_checks(const Caller& caller);

// Fills `cause`, so that each reason is told once.
void find_causes(std::vector<Check>& checks);
// The hint of an error as a cure; `otherwise` if it has none or only leads to `cordon doctor`.
std::string cure_of(const Error& error, std::string otherwise);

std::string_view name_of(CheckCategory category);
std::string_view name_of(CheckStatus status);

// The probes themselves, run inside a sandbox: `cordon doctor-inside ATTEMPT ARG...`. The exit
// status is 0 or the errno of what was refused.
inline constexpr std::string_view kInsideVerb = "doctor-inside";
int doctor_inside(const std::vector<std::string>& words);

}  // namespace cordon
