// CallCeilings: what one call is judged by, read anew for it, and the policies that tools ask for
// under them. A tool asks for what its arguments name; an argument that is left out asks for all
// that the operator permits. The clamp decides, here as everywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cordon/policy.h"
#include "policy/approval.h"
#include "policy/effective.h"
#include "policy/host_facts.h"
#include "policy/protected_names.h"

namespace cordon::mcp {

// Something that a person approved and that still holds.
struct LiveApproval {
  Approval approval;
  std::uint64_t left_ms = 0;
};

struct CallCeilings {
  Caller caller;
  std::vector<Ceiling> ceilings;    // never empty: without any there is one that permits nothing
  std::vector<std::string> hidden;  // files of the server that no sandbox may see
  bool set_by_operator = false;
  bool can_ask = false;                // this server has request_access, and a ceiling an [ask]
  std::vector<LiveApproval> approved;  // beyond the ceilings; the [ask] of each decides

  void approve(LiveApproval live);
  // The ceilings with what was approved, as this host has their paths. They are looked up once for
  // a call, however many paths it names: every question about it has one answer.
  [[nodiscard]] Result<std::vector<ResolvedCeiling>> resolved() const;

 private:
  mutable std::shared_ptr<const Result<std::vector<ResolvedCeiling>>> resolved_;
};
Result<CallCeilings> read_call_ceilings(const Caller& caller,
                                        const std::vector<std::string>& ceiling_files,
                                        std::vector<std::string> hidden);

struct RequestedRun {
  std::optional<std::vector<std::string>> read;
  std::optional<std::vector<std::string>> write;
  std::optional<std::uint64_t> timeout_ms;
  std::uint64_t unattended_wall_ms = 0;  // if neither the caller nor a ceiling bounds the time
};
Policy run_policy(const CallCeilings& bounds, const RequestedRun& wish);
// Why commands cannot start in the server's directory: the operator's ceilings leave nothing of it,
// and a command would work somewhere else. For the operator; a model is not told the ceilings.
std::optional<Error> lost_workspace(const CallCeilings& bounds);
// What a run that names nothing would get; the trees themselves are not looked at.
Result<Effective> most_permitted(const CallCeilings& bounds, std::uint64_t unattended_wall_ms);
// For a file tool: nothing but one path, and never a network.
Policy read_policy(const CallCeilings& bounds, const std::string& path);
Policy write_policy(const CallCeilings& bounds, const std::string& path);
// The same where directories may have to be made first: the nearest that is there.
Policy write_below_policy(const CallCeilings& bounds, const std::string& path);

// In the words of request_access.
std::string_view kind_word(Approval::Kind kind);
std::string target_of(const Approval& approval);

// Whether an operator lets anything be asked for beyond this ceiling.
bool has_requestable(const Ceiling& ceiling);
// All that a person approved, as the clamp takes it.
std::vector<Approval> approvals_of(const CallCeilings& bounds);
// A policy that asks for nothing but what was approved.
Policy policy_for(const CallCeilings& bounds, const Approval& approval);
// Whether every ceiling permits all of that policy's paths and hosts, in full.
bool permits_whole(const CallCeilings& bounds, const Policy& policy);
// The approvals that a policy makes use of: the shortest time that is left of one.
std::optional<std::uint64_t> approved_time(const CallCeilings& bounds, const Policy& policy);

enum class RequestedAccess { Read, Write };
// Whether every ceiling permits that. A path that does not exist is judged by the nearest directory
// that does, so that the answer tells nothing of what lies outside.
bool permitted(const CallCeilings& bounds, const std::string& canonical, RequestedAccess wish);

// The strictest of the ceilings; what is protected may be read.
ProtectionBound protection_bound_of(const CallCeilings& bounds, const std::string& canonical,
                                    RequestedAccess wish);

}  // namespace cordon::mcp
