#include "faces/mcp/tools/call_ceilings.h"

#include <algorithm>

#include "base/path.h"
#include "host/inspect.h"
#include "host/resolve.h"
#include "host/writable.h"
#include "policy/approval.h"
#include "policy/clamp.h"
#include "policy/environment.h"
#include "policy/net_rules.h"
#include "run/policy_source.h"

namespace cordon::mcp {
std::string_view kind_word(Approval::Kind kind) {
  switch (kind) {
    case Approval::Kind::Read:
      return "read";
    case Approval::Kind::Write:
      return "write";
    case Approval::Kind::Net:
      return "network";
  }
  return "";
}

std::string target_of(const Approval& approval) {
  return approval.kind == Approval::Kind::Net ? to_string(approval.host) : approval.path;
}

bool has_requestable(const Ceiling& ceiling) {
  const AskRules& ask = ceiling.ask;
  return !ask.read.empty() || !ask.write.empty() || !ask.net.empty();
}

void CallCeilings::approve(LiveApproval live) {
  approved.push_back(std::move(live));
  resolved_.reset();
}

Result<std::vector<ResolvedCeiling>> CallCeilings::resolved() const {
  if (!resolved_) {
    resolved_ = std::make_shared<const Result<std::vector<ResolvedCeiling>>>(
        resolve_ceilings(ceilings, caller, approvals_of(*this)));
  }
  return *resolved_;
}

std::vector<Approval> approvals_of(const CallCeilings& bounds) {
  std::vector<Approval> approved;
  approved.reserve(bounds.approved.size());
  for (const LiveApproval& live : bounds.approved) approved.push_back(live.approval);
  return approved;
}

namespace {

constexpr std::uint64_t kNothingWallMs = 30'000;
constexpr std::uint64_t kOutputTotal = std::uint64_t{256} << 20U;

Ceiling permits_nothing() {
  Ceiling ceiling;
  ceiling.id = "none";
  ceiling.policy.name = ceiling.id;
  ceiling.policy.limits.wall_ms = kNothingWallMs;
  ceiling.home = HomeMode::None;
  ceiling.caches = false;
  return ceiling;
}

std::vector<PathRule> rules_of(const std::vector<std::string>& paths, const Caller& caller) {
  std::vector<PathRule> rules;
  rules.reserve(paths.size());
  for (const std::string& path : paths) rules.push_back({path, caller.cwd});
  return rules;
}

// Whether a run that asked for it would be refused, or could not be built.
bool is_refused(const PathRule& rule, RequestedAccess access, const Caller& caller) {
  const bool writes = access == RequestedAccess::Write;
  Policy alone;
  (writes ? alone.fs.write : alone.fs.read) = {rule};
  const auto resolved = resolve(alone, caller);
  if (!resolved) return true;
  const auto place = canonicalize(rule.text, rule.base, caller);
  if (rule.text.starts_with('@') || !place) return false;
  return refuse_own_inside(*place, rule.text) || (writes && refuse_over_own(*place, rule.text));
}

// A ceiling may bound paths by a whole home, by /etc or by a directory that is no project; a
// request for these is refused as a whole, so they are asked for only by a caller who names
// something below.
std::vector<PathRule> requestable(std::vector<PathRule> rules, RequestedAccess access,
                                  const Caller& caller) {
  std::erase_if(rules, [&](const PathRule& rule) { return is_refused(rule, access, caller); });
  return rules;
}

bool is_at(const PathRule& rule, const std::string& canonical, const Caller& caller) {
  const auto place = canonicalize(rule.text, rule.base, caller);
  return place && place->path == canonical;
}

// What was approved, where the caller names nothing narrower.
void ask_for_approved(Policy& policy, const CallCeilings& bounds, const RequestedRun& wish) {
  for (const LiveApproval& live : bounds.approved) {
    const Approval& approval = live.approval;
    switch (approval.kind) {
      case Approval::Kind::Read:
        if (!wish.read) policy.fs.read.push_back({approval.path, {}});
        break;
      case Approval::Kind::Write:
        if (wish.write) break;
        // Of two rules for one path the narrower would win.
        if (!wish.read) {
          std::erase_if(policy.fs.read, [&](const PathRule& rule) {
            return is_at(rule, approval.path, bounds.caller);
          });
        }
        policy.fs.write.push_back({approval.path, {}});
        break;
      case Approval::Kind::Net:
        if (policy.net.mode == NetMode::Open) break;
        policy.net.mode = NetMode::Allow;
        policy.net.allow.push_back(approval.host);
        break;
    }
  }
}

// A ceiling's own list as a request. What it calls "@cwd" is no wish of the caller's, who may start
// elsewhere.
std::vector<PathRule> as_asked(std::vector<PathRule> rules, const Caller& caller) {
  for (PathRule& rule : rules) {
    if (rule.text == "@cwd") rule = {caller.cwd, {}};
  }
  return rules;
}

void hide(Policy& policy, const CallCeilings& bounds) {
  for (const std::string& file : bounds.hidden) policy.fs.deny.push_back({file, {}});
}

Result<Effective> clamp_under(const CallCeilings& bounds, const Policy& policy,
                              std::string start = {}) {
  CORDON_TRY(resolved, resolve(policy, bounds.caller));
  resolved.start = std::move(start);
  CORDON_TRY(ceilings, bounds.resolved());
  CORDON_TRY(clamped, clamp(resolved, ceilings));
  return clamped.effective();
}

Policy file_policy(const CallCeilings& bounds, std::string_view name) {
  Policy policy = make_preset("strict", preset_host());
  policy.name = name;
  hide(policy, bounds);
  return policy;
}

}  // namespace

Result<CallCeilings> read_call_ceilings(const Caller& caller,
                                        const std::vector<std::string>& ceiling_files,
                                        std::vector<std::string> hidden) {
  CORDON_TRY(ceilings, load_ceilings(ceiling_files, caller));
  CallCeilings bounds;
  bounds.caller = caller;
  bounds.ceilings = std::move(ceilings);
  bounds.hidden = std::move(hidden);
  bounds.set_by_operator = true;
  if (bounds.ceilings.empty()) {
    bounds.ceilings.push_back(permits_nothing());
    bounds.set_by_operator = false;
  }
  return bounds;
}

Policy run_policy(const CallCeilings& bounds, const RequestedRun& wish) {
  // The limits of people's own runs, since the work is the same; the wall clock and the whole
  // output have a bound besides, since nobody watches. Without a ceiling only the baseline is left.
  Policy policy = make_preset(bounds.set_by_operator ? "workspace" : "strict", preset_host());
  policy.name = "run_code";
  // The variables of whoever started the server are not for what a model runs.
  std::erase_if(policy.env.pass, is_build_variable);
  policy.limits.output_total = kOutputTotal;
  // The first ceiling as the request: what is left of it after all of them is their meet.
  const Policy& most = bounds.ceilings.front().policy;
  const Caller& caller = bounds.caller;
  policy.fs.read = wish.read
                       ? rules_of(*wish.read, caller)
                       : as_asked(requestable(most.fs.read, RequestedAccess::Read, caller), caller);
  policy.fs.write =
      wish.write ? rules_of(*wish.write, caller)
                 : as_asked(requestable(most.fs.write, RequestedAccess::Write, caller), caller);
  policy.net = most.net;
  // Calls run side by side, and each port of the host can be had once.
  policy.net.publish.clear();
  // A person lends keys to a command that they typed, never to whatever a model asks for.
  policy.net.ssh_agent.reset();
  ask_for_approved(policy, bounds, wish);
  const bool bounded = std::ranges::any_of(bounds.ceilings, [](const Ceiling& ceiling) {
    return ceiling.policy.limits.wall_ms.has_value();
  });
  policy.limits.wall_ms = wish.timeout_ms;
  if (!wish.timeout_ms && !bounded) policy.limits.wall_ms = wish.unattended_wall_ms;
  hide(policy, bounds);
  return policy;
}

std::optional<Error> lost_workspace(const CallCeilings& bounds) {
  // Without a ceiling nothing is granted anywhere, and the server says so.
  if (!bounds.set_by_operator) return std::nullopt;
  const std::vector<PathRule> workspace{{"@cwd", {}}};
  Policy policy;
  policy.name = "mcp";
  policy.fs.write = requestable(workspace, RequestedAccess::Write, bounds.caller);
  if (policy.fs.write.empty()) policy.fs.read = workspace;
  auto effective = clamp_under(bounds, policy, bounds.caller.cwd);
  if (effective) return std::nullopt;
  Error error = std::move(effective).error();
  error.hint += "; or start the server with --workspace DIR";
  return error;
}

Result<Effective> most_permitted(const CallCeilings& bounds, std::uint64_t unattended_wall_ms) {
  return clamp_under(bounds, run_policy(bounds, {{}, {}, {}, unattended_wall_ms}));
}

Policy policy_for(const CallCeilings& bounds, const Approval& approval) {
  Policy policy;
  policy.name = "request_access";
  hide(policy, bounds);
  switch (approval.kind) {
    case Approval::Kind::Read:
      policy.fs.read = {{approval.path, {}}};
      break;
    case Approval::Kind::Write:
      policy.fs.write = {{approval.path, {}}};
      break;
    case Approval::Kind::Net:
      policy.net.mode = NetMode::Allow;
      policy.net.allow = {approval.host};
      break;
  }
  return policy;
}

bool permits_whole(const CallCeilings& bounds, const Policy& policy) {
  const auto resolved = resolve(policy, bounds.caller);
  const auto effective = clamp_under(bounds, policy);
  if (!resolved || !effective) return false;
  const auto has = [](const std::vector<Grant>& grants, const std::string& path) {
    return std::ranges::any_of(grants, [&](const Grant& grant) { return grant.path == path; });
  };
  const bool paths = resolved->reductions.empty() &&
                     std::ranges::all_of(resolved->read,
                                         [&](const Grant& grant) {
                                           return has(effective->read, grant.path) ||
                                                  has(effective->write, grant.path);
                                         }) &&
                     std::ranges::all_of(resolved->write, [&](const Grant& grant) {
                       return has(effective->write, grant.path);
                     });
  const NetRules& net = effective->net;
  const bool hosts = std::ranges::all_of(policy.net.allow, [&](const HostRule& wanted) {
    const auto covering = [&](const HostRule& rule) { return covers(rule, wanted); };
    return net.mode == NetMode::Allow && std::ranges::any_of(net.allow, covering) &&
           std::ranges::none_of(net.deny, covering);
  });
  return paths && hosts;
}

std::optional<std::uint64_t> approved_time(const CallCeilings& bounds, const Policy& policy) {
  if (bounds.approved.empty()) return std::nullopt;
  const auto effective = clamp_under(bounds, policy);
  std::optional<std::uint64_t> shortest;
  if (!effective) return shortest;  // such a run is refused
  const auto used = approvals_used(approvals_of(bounds), *effective);
  for (const LiveApproval& live : bounds.approved) {
    if (std::ranges::find(used, live.approval.id) == used.end()) continue;
    shortest = std::min(shortest.value_or(live.left_ms), live.left_ms);
  }
  return shortest;
}

Policy read_policy(const CallCeilings& bounds, const std::string& path) {
  Policy policy = file_policy(bounds, "read_local_file");
  policy.fs.read = {{path, {}}};
  return policy;
}

Policy write_policy(const CallCeilings& bounds, const std::string& path) {
  Policy policy = file_policy(bounds, "write_local_file");
  // A new name, and the rename that replaces a file at once, need its directory. Where only the
  // file itself is permitted it is written in place.
  const std::string directory(parent(path));
  const bool file_alone =
      !permitted(bounds, directory, RequestedAccess::Write) && inspect_path(path);
  policy.fs.write = {{file_alone ? path : directory, {}}};
  return policy;
}

Policy write_below_policy(const CallCeilings& bounds, const std::string& path) {
  std::string directory(parent(path));
  if (inspect_path(directory)) return write_policy(bounds, path);
  while (directory != "/" && !inspect_path(directory)) directory = parent(directory);
  Policy policy = file_policy(bounds, "write_local_file");
  policy.fs.write = {{directory, {}}};
  return policy;
}

bool permitted(const CallCeilings& bounds, const std::string& canonical, RequestedAccess wish) {
  std::string path = canonical;
  while (path != "/" && !inspect_path(path)) path = parent(path);
  Policy policy;
  (wish == RequestedAccess::Read ? policy.fs.read : policy.fs.write) = {{path, {}}};
  const auto effective = clamp_under(bounds, policy);
  if (!effective) return false;
  const auto covers = [&](const Grant& grant) { return contains(grant.path, path); };
  return std::ranges::any_of(effective->write, covers) ||
         (wish == RequestedAccess::Read && std::ranges::any_of(effective->read, covers));
}

}  // namespace cordon::mcp
