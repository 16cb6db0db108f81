#include "faces/cli/action_sums.h"

#include <unistd.h>

#include <algorithm>

#include "faces/cli/console.h"

namespace cordon {

void ActionSum::add(const audit::Tally& tally) {
  count += tally.count;
  if (tally.outcome == "failure") failures += tally.count;
  if (tally.reason == "refused" || tally.reason == "denied") refusals += tally.count;
  if (tally.reason == "limit" || tally.reason == "timeout") limits += tally.count;
  denials += tally.denials;
  duration_ms += tally.duration_ms;
}

void ActionSum::add(const ActionSum& other) {
  count += other.count;
  failures += other.failures;
  denials += other.denials;
  refusals += other.refusals;
  limits += other.limits;
  duration_ms += other.duration_ms;
}

void ActionSums::add(const audit::Tally& tally) {
  all.add(tally);
  outcomes[tally.reason.empty() ? tally.outcome : tally.reason].add(tally);
  tools[tally.tool].add(tally);
  days[tally.day].add(tally);
}

void ActionSums::add(const std::string& node, const audit::Tally& tally) {
  add(tally);
  if (!nodes) nodes.emplace();
  (*nodes)[node].add(tally);
}

Node sum_node(const ActionSum& sum) {
  Node node;
  node.set("actions", Node(sum.count))
      .set("failures", Node(sum.failures))
      .set("refusals", Node(sum.refusals))
      .set("denials", Node(sum.denials))
      .set("limits", Node(sum.limits))
      .set("duration_ms", Node(sum.duration_ms));
  return node;
}

namespace {

std::string duration_text(std::uint64_t ms) {
  if (ms == 0) return "0s";
  if (ms < 1000) return std::to_string(ms) + "ms";
  const std::uint64_t seconds = ms / 1000;
  if (seconds < 60) return std::to_string(seconds) + "s";
  if (seconds < 3600)
    return std::to_string(seconds / 60) + "m" + std::to_string(seconds % 60) + "s";
  return std::to_string(seconds / 3600) + "h" + std::to_string(seconds / 60 % 60) + "m";
}

std::string chart(const char* title, const ActionSums::Rows& rows) {
  constexpr std::size_t kWidth = 24;
  const BarStyle style = ::isatty(STDOUT_FILENO) == 1 ? BarStyle::Blocks : BarStyle::Plain;
  std::uint64_t largest = 0;
  for (const auto& [name, sums] : rows) largest = std::max(largest, sums.count);
  TextTable table({{title},
                   {"ACTIONS", Align::Right},
                   {"FAILED", Align::Right},
                   {"REFUSED", Align::Right},
                   {"DENIALS", Align::Right},
                   {"LIMITS", Align::Right},
                   {"TIME", Align::Right},
                   {""}});
  for (const auto& [name, sums] : rows) {
    table.add({name, std::to_string(sums.count), std::to_string(sums.failures),
               std::to_string(sums.refusals), std::to_string(sums.denials),
               std::to_string(sums.limits), duration_text(sums.duration_ms),
               bar(sums.count, largest, kWidth, style)});
  }
  return table.text_for(STDOUT_FILENO);
}

// The last days; the rest is in the JSON.
ActionSums::Rows last_of(const ActionSums::Rows& days) {
  constexpr std::size_t kDays = 31;
  auto first = days.begin();
  for (std::size_t i = kDays; i < days.size(); ++i) ++first;
  return {first, days.end()};
}

Node rows_node(const ActionSums::Rows& rows) {
  Node node{NodeMap{}};
  for (const auto& [name, sums] : rows) node.set(name, sum_node(sums));
  return node;
}

}  // namespace

std::string sums_json(const ActionSums& sums) {
  Node node;
  node.set("schema", "cordon.audit-stats/1")
      .set("all", sum_node(sums.all))
      .set("outcomes", rows_node(sums.outcomes))
      .set("tools", rows_node(sums.tools))
      .set("days", rows_node(sums.days));
  if (sums.nodes) node.set("nodes", rows_node(*sums.nodes));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

std::string sums_text(const ActionSums& sums) {
  std::string text = std::to_string(sums.all.count) + " actions, " +
                     std::to_string(sums.all.failures) + " failed, " +
                     std::to_string(sums.all.denials) + " denials, " +
                     std::to_string(sums.all.limits) + " ended by a limit, " +
                     duration_text(sums.all.duration_ms) + " in all\n\n";
  if (const auto columns = columns_of(STDOUT_FILENO)) text = wrapped(text, *columns, 2);
  if (sums.nodes) text += chart("NODE", *sums.nodes) + "\n";
  return text + chart("OUTCOME", sums.outcomes) + "\n" + chart("TOOL", sums.tools) + "\n" +
         chart("DAY", last_of(sums.days));
}

}  // namespace cordon
