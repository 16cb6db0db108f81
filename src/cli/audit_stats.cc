#include <unistd.h>

#include <map>

#include "base/text.h"
#include "cli/audit_common.h"
#include "cli/talk.h"
#include "cli/text_table.h"
#include "cli/verbs.h"

namespace cordon {
namespace {

struct Sums {
  std::uint64_t count = 0;
  std::uint64_t failures = 0;
  std::uint64_t denials = 0;
  std::uint64_t refusals = 0;
  std::uint64_t duration_ms = 0;
  void add(const audit::Tally& tally) {
    count += tally.count;
    if (tally.outcome == "failure") failures += tally.count;
    if (tally.reason == "refused" || tally.reason == "denied") refusals += tally.count;
    denials += tally.denials;
    duration_ms += tally.duration_ms;
  }
};

struct Stats {
  Sums all;
  std::map<std::string, Sums> outcomes;
  std::map<std::string, Sums> tools;
  std::map<std::string, Sums> days;
};

Stats sums_of(const std::vector<audit::Tally>& tallies) {
  Stats stats;
  for (const audit::Tally& tally : tallies) {
    stats.all.add(tally);
    stats.outcomes[tally.reason.empty() ? tally.outcome : tally.reason].add(tally);
    stats.tools[tally.tool].add(tally);
    stats.days[tally.day].add(tally);
  }
  return stats;
}

std::string duration_text(std::uint64_t ms) {
  if (ms == 0) return "0s";
  if (ms < 1000) return std::to_string(ms) + "ms";
  const std::uint64_t seconds = ms / 1000;
  if (seconds < 60) return std::to_string(seconds) + "s";
  if (seconds < 3600)
    return std::to_string(seconds / 60) + "m" + std::to_string(seconds % 60) + "s";
  return std::to_string(seconds / 3600) + "h" + std::to_string(seconds / 60 % 60) + "m";
}

std::string chart(const char* title, const std::map<std::string, Sums>& rows) {
  constexpr std::size_t kWidth = 24;
  const BarStyle style = ::isatty(STDOUT_FILENO) == 1 ? BarStyle::Blocks : BarStyle::Plain;
  std::uint64_t largest = 0;
  for (const auto& [name, sums] : rows) largest = std::max(largest, sums.count);
  TextTable table({{title},
                   {"ACTIONS", Align::Right},
                   {"FAILED", Align::Right},
                   {"REFUSED", Align::Right},
                   {"DENIALS", Align::Right},
                   {"TIME", Align::Right},
                   {""}});
  for (const auto& [name, sums] : rows) {
    table.add({name, std::to_string(sums.count), std::to_string(sums.failures),
               std::to_string(sums.refusals), std::to_string(sums.denials),
               duration_text(sums.duration_ms), bar(sums.count, largest, kWidth, style)});
  }
  return table.text();
}

// The last days; the rest is in the JSON.
std::map<std::string, Sums> last_of(const std::map<std::string, Sums>& days) {
  constexpr std::size_t kDays = 31;
  auto first = days.begin();
  for (std::size_t i = kDays; i < days.size(); ++i) ++first;
  return {first, days.end()};
}

Node sums_node(const Sums& sums) {
  Node node;
  node.set("actions", Node(sums.count))
      .set("failures", Node(sums.failures))
      .set("refusals", Node(sums.refusals))
      .set("denials", Node(sums.denials))
      .set("duration_ms", Node(sums.duration_ms));
  return node;
}

Node rows_node(const std::map<std::string, Sums>& rows) {
  Node node{NodeMap{}};
  for (const auto& [name, sums] : rows) node.set(name, sums_node(sums));
  return node;
}

std::string stats_json(const Stats& stats) {
  Node node;
  node.set("all", sums_node(stats.all))
      .set("outcomes", rows_node(stats.outcomes))
      .set("tools", rows_node(stats.tools))
      .set("days", rows_node(stats.days));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

std::string stats_text(const Stats& stats) {
  return std::to_string(stats.all.count) + " actions, " + std::to_string(stats.all.failures) +
         " failed, " + std::to_string(stats.all.denials) + " denials, " +
         duration_text(stats.all.duration_ms) + " in all\n\n" + chart("OUTCOME", stats.outcomes) +
         "\n" + chart("TOOL", stats.tools) + "\n" + chart("DAY", last_of(stats.days));
}

Result<Stats> stats_of(const Arguments& arguments) {
  CORDON_TRY(where, audit_place());
  CORDON_TRY(filter, audit_filter(arguments, where));
  CORDON_TRY(index, audit::Index::open(where.place, audit_progress("indexing")));
  CORDON_TRY(tallies, index.tally(filter));
  return sums_of(tallies);
}

}  // namespace

int verb_audit_stats(const Arguments& arguments) {
  const auto stats = stats_of(arguments);
  if (!stats) return audit_failure_status(stats.error());
  if (!say_answer(arguments.has(FlagId::Json) ? stats_json(*stats) : stats_text(*stats))) {
    return kAnswerError;
  }
  return stats->all.count == 0 ? kAnswerNo : kAnswerYes;
}

}  // namespace cordon
