#include "config/environment.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "config/node.h"
#include "config/section.h"
#include "policy/net_rules.h"

namespace cordon {
namespace {

using Environment = std::map<std::string, std::string>;

constexpr std::array<std::string_view, 2> kPrefixes{"CORDON_SANDBOX_", "ENTRABOT_SANDBOX_"};
constexpr std::uint64_t kDefaultTimeoutMs = 30'000;

struct Variable {
  std::string name;  // as it was spelled, for messages
  std::string value;
};

std::optional<Variable> find_variable(const Environment& environment, std::string_view suffix) {
  for (const std::string_view prefix : kPrefixes) {
    const auto found = environment.find(std::string(prefix).append(suffix));
    if (found != environment.end()) return Variable{found->first, found->second};
  }
  return std::nullopt;
}

Result<std::vector<PathRule>> parse_paths(const std::optional<Variable>& variable, PathUse use) {
  std::vector<PathRule> rules;
  if (!variable) return rules;
  for (std::string& entry : split_path_list(variable->value, PathListStyle::Posix)) {
    if (entry.front() != '/' && entry.front() != '~') {
      return fail(policy_error(variable->name + " holds the relative path " + shown(entry),
                               "write absolute paths, \"~\" or \"~/x\""));
    }
    if (auto legal = check_path_entry(entry, use); !legal) {
      Error error = std::move(legal).error();
      error.what = variable->name + ": " + error.what;
      return fail(std::move(error));
    }
    rules.push_back(PathRule{std::move(entry), {}});
  }
  return rules;
}

Result<std::uint64_t> parse_timeout(const std::optional<Variable>& variable) {
  if (!variable) return kDefaultTimeoutMs;
  const auto number = parse_number(variable->value);
  if (number && *number > 0) return *number;
  return fail(policy_error(
      variable->name + " is " + shown(variable->value) + ", not a number of milliseconds",
      "write a whole number above zero, such as 30000"));
}

Result<NetMode> parse_network(const std::optional<Variable>& variable) {
  if (!variable || variable->value == "block") return NetMode::None;
  if (variable->value == "allow") return NetMode::Open;
  constexpr std::array<std::string_view, 2> kWords{"block", "allow"};
  return fail(policy_error(
      variable->name + " is " + shown(variable->value) + ", not \"block\" or \"allow\"",
      suggestion(variable->value, kWords)));
}

}  // namespace

std::vector<std::string> split_path_list(std::string_view text, PathListStyle style) {
  std::vector<std::string> entries;
  for (const std::string_view entry : split(text, style == PathListStyle::Windows ? ';' : ':')) {
    if (!entry.empty()) entries.emplace_back(entry);
  }
  return entries;
}

Result<std::optional<Ceiling>> environment_ceiling(const Environment& environment) {
  const auto readonly = find_variable(environment, "READONLY_PATHS");
  const auto readwrite = find_variable(environment, "READWRITE_PATHS");
  const auto timeout = find_variable(environment, "TIMEOUT_MS");
  const auto network = find_variable(environment, "NETWORK");
  if (!readonly && !readwrite && !timeout && !network) return std::nullopt;

  CORDON_TRY(read, parse_paths(readonly, PathUse::Read));
  CORDON_TRY(write, parse_paths(readwrite, PathUse::Write));
  CORDON_TRY(wall_ms, parse_timeout(timeout));
  CORDON_TRY(mode, parse_network(network));
  Ceiling ceiling;
  ceiling.id = "environment";
  ceiling.policy.name = ceiling.id;
  ceiling.policy.fs.read = std::move(read);
  ceiling.policy.fs.write = std::move(write);
  ceiling.policy.limits.wall_ms = wall_ms;
  ceiling.policy.net.mode = access_of(mode);
  return ceiling;
}

}  // namespace cordon
