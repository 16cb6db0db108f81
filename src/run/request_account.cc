#include "run/request_account.h"

#include <algorithm>

#include "policy/http_rules.h"

namespace cordon {
namespace {

// A program cannot fill memory by asking for another thing each time.
constexpr std::size_t kMostRequests = 1000;

bool same_kind(const SentRequests& a, const SentRequests& b) {
  return a.rule == b.rule && a.method == b.method && a.host == b.host && a.status == b.status &&
         a.refused == b.refused;
}

RequestAccount::Spent used_up(const std::string& budget) {
  return {budget, budget + " is used up"};
}

}  // namespace

std::optional<RequestAccount::Spent> RequestAccount::take(const std::string& secret) {
  if (limits_.request_traffic && traffic_ >= *limits_.request_traffic) {
    return Spent{gate::traffic_budget(*limits_.request_traffic),
                 gate::beyond_traffic_budget(*limits_.request_traffic)};
  }
  if (limits_.requests && requests_ >= *limits_.requests) {
    return used_up("limits.requests = " + std::to_string(*limits_.requests));
  }
  if (!secret.empty()) {
    const auto source = std::ranges::find(secrets_, secret, &SecretRule::name);
    const bool bounded = source != secrets_.end() && source->requests;
    if (bounded && carried_[secret] >= *source->requests) return used_up(budget_of(*source));
    ++carried_[secret];
  }
  ++requests_;
  return std::nullopt;
}

void RequestAccount::count(SentRequests request) {
  const auto known = std::ranges::find_if(
      sent_, [&](const SentRequests& other) { return same_kind(other, request); });
  const auto is_alike = [&](const SentRequests& other) {
    return other.refused.empty() == request.refused.empty();
  };
  const auto listed = static_cast<std::size_t>(std::ranges::count_if(sent_, is_alike));
  if (known == sent_.end() && listed < kMostRequests) {
    sent_.push_back(std::move(request));
    return;
  }
  SentRequests& sum = known == sent_.end() ? unlisted_ : *known;
  sum.count += request.count;
  sum.sent += request.sent;
  sum.received += request.received;
}

void RequestAccount::deny(const GateRequest& request, const std::string& reason) {
  std::string detail = request.method.empty() ? std::string() : request.method + " ";
  detail.append(request.host).append(": ").append(reason);
  const auto is_it = [&](const Gate::Refused& one) { return one.denial.detail == detail; };
  const auto known = std::ranges::find_if(refused_, is_it);
  if (known != refused_.end()) {
    ++known->denial.count;
  } else if (refused_.size() < kMostRequests) {
    // What the reason does not name needs no advice, and may be long.
    const bool named = detail.find(request.path) != std::string::npos;
    refused_.push_back({{"request", detail, "gate", 1, request.host, "connect", request.rule},
                        request.method,
                        named ? request.path : std::string()});
  }
}

void RequestAccount::refused(const GateRequest& request, const std::string& reason) {
  deny(request, reason);
  count({request.rule, request.method, request.host, 0, 0, 0, 1, reason});
}

void RequestAccount::done(const GateRequest& request, const gate::Done& done) {
  count({request.rule, request.method, request.host, done.status, done.sent, done.received, 1,
         done.ended.value_or(std::string())});
  traffic_ += done.sent + done.received;
  if (!limits_.request_traffic ||
      done.ended != gate::beyond_traffic_budget(*limits_.request_traffic))
    return;
  GateRequest cut = request;
  cut.rule = gate::traffic_budget(*limits_.request_traffic);
  deny(cut, *done.ended);
}

void RequestAccount::cut_off(const GateRequest& request, const std::string& reason) {
  count({request.rule, request.method, request.host, 0, 0, 0, 1, reason});
}

Gate::Account RequestAccount::settle() {
  if (unlisted_.count > 0) sent_.push_back(unlisted_);
  return {std::exchange(sent_, {}), std::exchange(refused_, {})};
}

}  // namespace cordon
