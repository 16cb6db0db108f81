#include "faces/cli/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/text.h"

namespace cordon {
namespace {

// More names than this make a line that nobody reads; the report has them all.
constexpr std::size_t kMostNames = 4;

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMostNames; ++i) {
    text.append(i == 0 ? "" : ", ").append(names[i]);
  }
  if (names.size() > kMostNames) {
    text += " and " + std::to_string(names.size() - kMostNames) + " more";
  }
  return text;
}

// With one digit behind the point below ten: "3.4M", "118M", "900B".
std::string about_size(std::uint64_t bytes) {
  constexpr std::string_view kUnits = "BKMGT";
  std::size_t unit = 0;
  double value = static_cast<double>(bytes);
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f}{}", value, unit > 0 && value < 10 ? 1 : 0, kUnits[unit]);
}

// "850ms", "1.2s", "95s", "12m".
std::string about_time(std::uint64_t milliseconds) {
  if (milliseconds < 1000) return std::to_string(milliseconds) + "ms";
  const double seconds = static_cast<double>(milliseconds) / 1000;
  if (seconds < 10) return fmt::format("{:.1f}s", seconds);
  if (seconds < 600) return fmt::format("{:.0f}s", seconds);
  return fmt::format("{:.0f}m", seconds / 60);
}

std::string how_many(std::uint64_t count, std::string_view one, std::string_view many) {
  return std::to_string(count) + " " + std::string(count == 1 ? one : many);
}

// "connect 3, pids 1", the most frequent first.
std::string tally(const std::map<std::string, std::uint64_t>& counts) {
  std::vector<std::pair<std::string, std::uint64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> names;
  for (const auto& [name, count] : sorted) names.push_back(name + " " + std::to_string(count));
  return listed(names);
}

struct EndText {
  std::string operator()(const Exited& end) const { return "exit " + std::to_string(end.code); }
  std::string operator()(const Signaled& end) const {
    return "ended by " + signal_name(end.signal);
  }
  std::string operator()(const TimedOut&) const { return "killed at the wall-clock limit"; }
  std::string operator()(const OverLimit& end) const {
    return "killed at a limit (" + (end.reason == "oom" ? "memory" : end.reason) + ")";
  }
  std::string operator()(const Cancelled& end) const {
    return end.signal == 0 ? "cancelled" : "ended by " + signal_name(end.signal) + " from outside";
  }
};

std::string layers(const Enforcement& enforcement) {
  std::string text = enforcement.backend + ":";
  const auto add = [&](bool holds, const std::string& name) {
    if (holds) text.append(text.ends_with(':') ? " " : ", ").append(name);
  };
  add(enforcement.namespaces, "namespaces");
  add(enforcement.bind_mounts, "mounts");
  add(enforcement.landlock, "landlock");
  add(enforcement.seccomp, "seccomp");
  add(enforcement.cap_drop, "no capabilities");
  return text + "; network " + enforcement.network;
}

std::string not_held(const Enforcement& enforcement) {
  std::vector<std::string> names = enforcement.missing;
  for (const Loss& loss : enforcement.lost) names.emplace_back(name_of(loss));
  return listed(names);
}

std::string limits(const Enforcement& enforcement) {
  std::map<std::string, std::vector<std::string>> by;
  for (const auto& [limit, holder] : enforcement.limits) by[holder].push_back(limit);
  std::string text;
  for (const auto& [holder, names] : by) {
    text.append(text.empty() ? "" : "; ").append(listed(names) + " by " + holder);
  }
  return text;
}

std::string denied(const std::vector<Denial>& denials) {
  std::map<std::string, std::uint64_t> counts;
  for (const Denial& denial : denials) counts[denial.what] += denial.count;
  return counts.empty() ? "nothing" : tally(counts);
}

std::string reduced(const std::vector<Reduction>& reductions) {
  std::vector<std::string> names;
  for (const Reduction& one : reductions) {
    names.push_back(one.what + " " + one.asked + " (" + std::string(name_of(one.because)) + ")");
  }
  return listed(names);
}

std::string network(const std::vector<Connection>& connections) {
  if (connections.empty()) return {};
  std::uint64_t refused = 0;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  for (const Connection& one : connections) {
    if (!one.allowed) ++refused;
    sent += one.sent.value_or(0);
    received += one.received.value_or(0);
  }
  std::string text = how_many(connections.size(), "destination", "destinations");
  if (refused > 0) text += ", " + std::to_string(refused) + " refused";
  return text + "; " + about_size(sent) + " sent, " + about_size(received) + " received";
}

std::string changed(const Report& report) {
  std::map<std::string, std::uint64_t> counts;
  for (const Change& change : report.changes) ++counts[std::string(name_of(change.state))];
  for (const Quarantined& one : report.outcome->handoff) {
    if (!one.moved_to.empty()) ++counts["moved away"];
  }
  if (counts.empty()) return {};
  return tally(counts) + "; cordon changes list " + report.run_id;
}

class Lines {
 public:
  void add(std::string_view label, const std::string& text) {
    constexpr std::size_t kWidth = 10;
    if (text.empty()) return;
    text_.append("  ").append(label).append(kWidth - label.size(), ' ').append(sanitize(text));
    text_.append("\n");
  }
  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string summary_text(const Report& report) {
  Lines lines;
  if (!report.outcome) {
    lines.add("run", report.run_id + ": not started");
    if (report.error) lines.add("because", message(*report.error));
  } else {
    const Outcome& outcome = *report.outcome;
    lines.add("run", report.run_id + ": " + std::visit(EndText{}, outcome.end) + " after " +
                         about_time(outcome.duration_ms));
    lines.add("held by", layers(report.enforcement));
    lines.add("not held", not_held(report.enforcement));
    lines.add("limits", limits(report.enforcement));
    lines.add("used", about_time(outcome.usage.cpu_ms) + " of processor time, at most " +
                          about_size(outcome.usage.max_rss_bytes) + " of memory");
    lines.add("reduced", reduced(report.reductions));
    lines.add("denied", denied(outcome.denials));
    lines.add("network", network(outcome.connections));
    lines.add("changed", changed(report));
  }
  if (report.audit && !report.audit->event_id.empty()) {
    lines.add("recorded", "cordon audit show " + report.audit->event_id);
  }
  return std::move(lines).text();
}

}  // namespace cordon
