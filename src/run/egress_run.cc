#include "run/egress_run.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "policy/http_rules.h"
#include "run/why.h"

namespace cordon {
namespace {

bool shares_host(const Plan& plan) {
  return std::ranges::find(plan.missing, Layer::Namespaces) != plan.missing.end();
}

// Where the broker may change modes and times for a sandbox that has the host's view of files.
std::vector<std::string> changeable(const Plan& plan) {
  std::vector<std::string> paths;
  if (!shares_host(plan)) return paths;
  for (const Op& operation : plan.build) {
    const auto* rule = std::get_if<op::LandlockAllow>(&operation);
    if (rule != nullptr && rule->use == LandlockUse::ReadWrite) paths.push_back(rule->path);
  }
  return paths;
}

std::vector<StagedPlace> staged_places(const Plan& plan) {
  std::vector<StagedPlace> places;
  for (const Op& operation : plan.build) {
    const auto* tree = std::get_if<op::StagedTree>(&operation);
    // In a copy every directory can be renamed.
    if (tree != nullptr && !tree->work.empty()) places.push_back({tree->path, tree->upper});
  }
  return places;
}

// Of the caller's own: another user's would hear what is signed.
Result<std::optional<std::string>> ssh_agent_of(const JudgedRun& run) {
  if (!run.clamped.effective().net.ssh_agent) return std::nullopt;
  const auto variable = run.caller.environment.find("SSH_AUTH_SOCK");
  const std::string hint = "start one with: eval $(ssh-agent) && ssh-add";
  if (variable == run.caller.environment.end() || !variable->second.starts_with('/'))
    return fail(policy_error("no ssh agent is known: SSH_AUTH_SOCK is not set", hint));
  struct stat status {};
  if (::stat(variable->second.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode))
    return fail(policy_error(
        "no ssh agent is at " + quote(variable->second) + ", which SSH_AUTH_SOCK names", hint));
  if (status.st_uid != run.caller.uid)
    return fail(
        policy_error("the ssh agent at " + quote(variable->second) + " is another user's", hint));
  return variable->second;
}

Result<BrokerRequest> broker_request(const RunInput& input, const JudgedRun& run,
                                     const Gate* gate) {
  const Effective& effective = run.clamped.effective();
  CORDON_TRY(ssh_agent, ssh_agent_of(run));
  if (input.live_rules) input.live_rules->replace(effective.net);
  return BrokerRequest{effective.net,
                       effective.sockets,
                       std::move(ssh_agent),
                       input.live_rules,
                       input.ceilings_now,
                       effective.limits.connections,
                       effective.limits.sent,
                       shares_host(run.plan) ? SandboxNetwork::Hosts : SandboxNetwork::Own,
                       changeable(run.plan),
                       staged_places(run.plan),
                       input.tell_rename,
                       input.why ? refused_by(run.plan) : PathWatch::Refuses(),
                       gate == nullptr ? nullptr : gate->way_in()};
}

}  // namespace

Result<std::optional<Broker>> make_broker(const RunInput& input, const JudgedRun& run,
                                          const Gate* gate) {
  const Effective& effective = run.clamped.effective();
  const bool needed =
      effective.net.mode == NetMode::Allow || !effective.sockets.empty() || input.why;
  if (!needed && input.session == nullptr) return std::nullopt;
  CORDON_TRY(request, broker_request(input, run, gate));
  CORDON_TRY(broker, Broker::make(std::move(request)));
  return std::optional<Broker>(std::move(broker));
}

Result<std::unique_ptr<Gate>> make_gate(const JudgedRun& run) {
  const Effective& effective = run.clamped.effective();
  if (!judges_requests(effective.net)) return nullptr;
  return Gate::start(effective, run.caller);
}

void add_requests(const RunInput& input, const JudgedRun& run, Gate& gate, Outcome& outcome) {
  Gate::Account account = gate.end();
  outcome.requests = std::move(account.requests);
  if (input.cures) advise_requests(input, run, account.refused);
  for (Gate::Refused& one : account.refused) outcome.denials.push_back(std::move(one.denial));
}

Result<std::optional<Publisher>> make_publisher(const NetRules& net) {
  if (net.publish.empty()) return std::nullopt;
  CORDON_TRY(publisher, Publisher::make(net.publish));
  return std::optional<Publisher>(std::move(publisher));
}

void serve_calls(const RunInput& input, const JudgedRun& run, BrokerSockets& egress,
                 std::optional<Broker>& broker) {
  BrokerSockets taken = std::move(egress);
  if (!taken.listener.valid()) return;
  if (!broker) {
    auto request = broker_request(input, run, nullptr);
    if (!request) return;
    auto made = Broker::make(*std::move(request));
    if (!made) return;
    broker.emplace(std::move(*made));
  }
  broker->serve(std::move(taken));
}

void add_attempts(const RunInput& input, const JudgedRun& run, Broker& broker, Outcome& outcome) {
  broker.settle();
  outcome.connections = broker.connections();
  std::vector<Denial> denials = broker.denials();
  if (input.cures) advise_connections(input, run, denials);
  outcome.denials.insert(outcome.denials.end(), denials.begin(), denials.end());
  if (!input.why) return;
  denials = path_denials(input, run, broker.refused_paths(), broker.untold_paths());
  outcome.denials.insert(outcome.denials.end(), denials.begin(), denials.end());
}

}  // namespace cordon
