#include "faces/fleet/fleet_sums.h"

#include <algorithm>
#include <map>

namespace cordon {
namespace {

// Clocks of hosts differ by seconds. What is further ahead is told.
constexpr std::int64_t kSkewUs = std::int64_t{120} * 1'000'000;
constexpr std::int64_t kHourUs = std::int64_t{3600} * 1'000'000;
constexpr std::size_t kMostStrange = 5;

// A line is 64 KiB at most, and so may be a name in it: twenty thousand of those are a gigabyte.
std::string bounded(std::string_view name) {
  constexpr std::size_t kMostBytes = 200;
  std::string text(name.substr(0, kMostBytes));
  if (name.size() > kMostBytes) text += "…";
  return text;
}

// Each a line: a newline in one would make two of it.
std::string joined_name(std::initializer_list<std::string_view> parts) {
  std::string name;
  for (const std::string_view part : parts) {
    std::string text = bounded(part);
    std::ranges::replace(text, '\n', ' ');
    name += text + "\n";
  }
  return name;
}

// A number of a record. Bounded, so that the sum of many is one.
std::uint64_t number_of(const LineValue& values, std::string_view key) {
  constexpr std::int64_t kMost = std::int64_t{1} << 43U;
  return static_cast<std::uint64_t>(
      std::clamp(audit::number_in(values, key).value_or(0), std::int64_t{0}, kMost));
}

const LineValue& list_of(const LineValue& metadata, std::string_view key) {
  static constexpr LineValue kNothing{};
  const LineValue* found = metadata.find(key);
  return found != nullptr && found->kind == LineValue::Kind::List ? *found : kNothing;
}

std::optional<std::array<std::uint64_t, 2>> id_of(std::string_view uuid) {
  std::array<std::uint64_t, 2> id{};
  std::size_t digits = 0;
  for (const char c : uuid) {
    if (c == '-') continue;
    const bool is_letter = c >= 'a' && c <= 'f';
    if ((!is_letter && (c < '0' || c > '9')) || digits == 32) return std::nullopt;
    id[digits / 16] =
        id[digits / 16] * 16 + static_cast<std::uint64_t>(is_letter ? c - 'a' + 10 : c - '0');
    ++digits;
  }
  return digits == 32 ? std::optional(id) : std::nullopt;
}

std::string_view name_of_end(const std::optional<audit::Ending>& ending) {
  if (!ending) return "pending";
  return audit::reason_of(*ending).value_or("success");
}

std::int64_t begin_of(FleetUnit unit, std::int64_t moment_us) {
  const auto whole = [&](std::int64_t width) {
    const std::int64_t rest = moment_us % width;
    return moment_us - (rest < 0 ? rest + width : rest);
  };
  switch (unit) {
    case FleetUnit::Hour:
      return whole(kHourUs);
    case FleetUnit::Day:
      return whole(audit::kDayUs);
    case FleetUnit::Month:
      return audit::start_of_day(audit::day_of(moment_us).substr(0, 7) + "-01")
          .value_or(whole(audit::kDayUs));
  }
  return moment_us;
}

}  // namespace

std::uint64_t FleetCount::node_count() const {
  return static_cast<std::uint64_t>(std::ranges::count(nodes, true));
}

std::size_t FleetSums::KeyHash::operator()(const Key& key) const {
  // Ids are random, but whoever writes as a node chooses its own.
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  std::uint64_t mixed = (key.id[0] ^ key.node) * kOdd;
  mixed = (mixed ^ (mixed >> 32U) ^ key.id[1]) * kOdd;
  return mixed ^ (mixed >> 29U);
}

bool FleetSums::is_wanted(std::int64_t begun_us) const {
  return (!range_.since_us || begun_us >= *range_.since_us) &&
         (!range_.until_us || begun_us < *range_.until_us);
}

bool FleetSums::is_ahead(std::int64_t moment_us) const { return moment_us > now_us_ + kSkewUs; }

FleetSums::Action& FleetSums::action_of(std::uint32_t node, std::string_view event_id) {
  const Key key{node, id_of(event_id).value_or(std::array<std::uint64_t, 2>{})};
  const auto [found, is_new] = places_.emplace(key, static_cast<std::uint32_t>(actions_.size()));
  if (is_new) actions_.emplace_back().node = node;
  return actions_[found->second];
}

void FleetSums::take(std::string_view node, const audit::Record& record,
                     std::optional<std::int64_t> received_us) {
  if (!range_.node.empty() && node != range_.node) return;
  if (record.phase == audit::Phase::Note) return;
  const std::uint32_t place = nodes.of(bounded(node));
  Action& action = action_of(place, record.event_id);
  const bool begins = record.phase == audit::Phase::Pending;
  if (begins ? action.begun : action.ended) return;
  ++records;
  const std::int64_t ahead = record.wall_us - received_us.value_or(now_us_);
  FleetNode& of = nodes.at(place);
  if (ahead > kSkewUs) of.ahead_us = std::max(of.ahead_us, ahead);
  if (begins) {
    begin(action, record, *record.metadata);
  } else {
    end(action, record);
  }
}

void FleetSums::take_strange(std::string_view node, std::uint64_t seq) {
  if (!range_.node.empty() && node != range_.node) return;
  ++strange;
  if (first_strange.size() < kMostStrange) first_strange.push_back({bounded(node), seq});
}

void FleetSums::begin(Action& action, const audit::Record& record, const LineValue& request) {
  action.begun = true;
  action.begun_us = record.wall_us;
  action.is_run = record.action == "run" || record.action == "exec";
  const auto tool = audit::text_in(request, "tool");
  action.tool = tools.of(bounded(tool.value_or(record.action)));
  if (const auto agent = audit::text_in(request, "agent"))
    action.agent = agents.of(bounded(*agent));
  const LineValue* http = request.find("http");
  if (http == nullptr || http->kind != LineValue::Kind::Map) return;
  action.request = requests.of(joined_name(
      {audit::text_in(*http, "rule").value_or(""), audit::text_in(*http, "method").value_or("")}));
}

void FleetSums::end(Action& action, const audit::Record& record) {
  const LineValue& metadata = *record.metadata;
  const LineValue* asked = metadata.find("request");
  const bool is_refusal = asked != nullptr && asked->kind == LineValue::Kind::Map;
  action.duration_ms = number_of(metadata, "duration_ms");
  if (!action.begun && is_refusal) {
    begin(action, record, *asked);
  } else if (!action.begun) {
    // Its first record is not there, or not yet.
    action.begun_us = record.wall_us - static_cast<std::int64_t>(action.duration_ms) * 1000;
    action.tool = tools.of(bounded(record.action));
  }
  action.ended = true;
  action.denials = number_of(metadata, "denial_count");
  action.ending = record.outcome == "success" ? std::optional(audit::Ending::Success)
                                              : audit::ending_with_reason(record.reason);
  const LineValue* http = metadata.find("http");
  if (http != nullptr && http->kind == LineValue::Kind::Map) {
    action.sent = number_of(*http, "sent");
    action.received = number_of(*http, "received");
  }
  if (!is_wanted(action.begun_us)) return;
  count_connections(action, metadata);
  count_denials(action, metadata);
  count_end(action, metadata);
}

void FleetSums::add(NamedRows<FleetCount>& rows, std::initializer_list<std::string_view> parts,
                    std::uint32_t node, std::uint64_t count, std::uint64_t sent,
                    std::uint64_t received) {
  FleetCount& row = rows.at(rows.of(joined_name(parts)));
  row.count += count;
  row.sent += sent;
  row.received += received;
  if (row.nodes.size() <= node) row.nodes.resize(node + 1);
  row.nodes[node] = true;
}

void FleetSums::count_connections(const Action& action, const LineValue& metadata) {
  for (const LineValue& one : list_of(metadata, "connections")) {
    const LineValue* allowed = one.find("allowed");
    if (allowed == nullptr || !allowed->truth) continue;
    const std::uint64_t count = number_of(one, "count");
    const auto port = audit::number_in(one, "port");
    add(hosts,
        {audit::text_in(one, "rule").value_or(""), audit::text_in(one, "address").value_or(""),
         port ? std::to_string(*port) : ""},
        action.node, count, number_of(one, "sent"), number_of(one, "received"));
    nodes.at(action.node).connections += count;
  }
}

void FleetSums::count_denials(const Action& action, const LineValue& metadata) {
  for (const LineValue& one : list_of(metadata, "denials")) {
    add(denials,
        {audit::text_in(one, "what").value_or(""), audit::text_in(one, "layer").value_or(""),
         audit::text_in(one, "rule").value_or("")},
        action.node, number_of(one, "count"), 0, 0);
  }
}

void FleetSums::count_end(const Action& action, const LineValue& metadata) {
  if (!action.ending) return;
  const std::string_view name = name_of_end(action.ending);
  switch (*action.ending) {
    case audit::Ending::Refused:
    case audit::Ending::Denied:
      add(refusals, {name, audit::text_in(metadata, "error_kind").value_or("")}, action.node, 1, 0,
          0);
      break;
    case audit::Ending::Timeout:
      add(limits, {"wall clock"}, action.node, 1, 0, 0);
      break;
    case audit::Ending::Limit: {
      // The bound that was reached is among the denials; nothing else is without a rule.
      std::string_view what = "a limit";
      for (const LineValue& one : list_of(metadata, "denials")) {
        const auto found = audit::text_in(one, "what");
        if (!found || audit::text_in(one, "rule")) continue;
        what = *found;
        break;
      }
      add(limits, {what}, action.node, 1, 0, 0);
      break;
    }
    case audit::Ending::Success:
    case audit::Ending::Exit:
    case audit::Ending::Signal:
    case audit::Ending::Cancelled:
    case audit::Ending::Crash:
      break;
  }
}

audit::Tally FleetSums::tally_of(const Action& action) {
  audit::Tally tally;
  tally.count = 1;
  tally.duration_ms = action.duration_ms;
  tally.denials = action.denials;
  tally.outcome = "pending";
  if (!action.ending) return tally;
  tally.outcome = audit::outcome_of(*action.ending);
  tally.reason = audit::reason_of(*action.ending).value_or("");
  return tally;
}

void FleetSums::sum_up(const Action& action) {
  const audit::Tally one = tally_of(action);
  all.add(one);
  if (action.is_run) ++runs;
  if (!action.ending) ++pending;
  FleetNode& node = nodes.at(action.node);
  node.sum.add(one);
  node.last_us = node.sum.count == 1 ? action.begun_us : std::max(node.last_us, action.begun_us);
  outcomes.at(outcomes.of(name_of_end(action.ending))).sum.add(one);
  tools.at(action.tool).sum.add(one);
  if (action.agent != kNone) agents.at(action.agent).sum.add(one);
  if (action.request != kNone) {
    FleetCount& request = requests.at(action.request);
    ++request.count;
    request.sent += action.sent;
    request.received += action.received;
    if (request.nodes.size() <= action.node) request.nodes.resize(action.node + 1);
    request.nodes[action.node] = true;
  }
  first_us = std::min(first_us.value_or(action.begun_us), action.begun_us);
  last_us = std::max(last_us.value_or(action.begun_us), action.begun_us);
}

std::int64_t FleetSums::choose_unit() {
  std::vector<std::int64_t> begun;
  for (const Action& action : actions_) {
    if (is_wanted(action.begun_us) && !is_ahead(action.begun_us)) begun.push_back(action.begun_us);
  }
  if (begun.empty()) return now_us_;
  const auto [first, last] = std::ranges::minmax(begun);
  const auto unit_of = [end = last](std::int64_t from) {
    constexpr std::int64_t kMostHours = 3 * audit::kDayUs;
    constexpr std::int64_t kMostDays = 92 * audit::kDayUs;
    if (end - from <= kMostHours) return FleetUnit::Hour;
    return end - from <= kMostDays ? FleetUnit::Day : FleetUnit::Month;
  };
  // Of a hundred, one may stand apart.
  const auto early = begun.begin() + static_cast<std::ptrdiff_t>(begun.size() / 100);
  std::ranges::nth_element(begun, early);
  time.unit = unit_of(*early);
  return time.unit == unit_of(first) ? first : *early;
}

void FleetSums::finish() {
  constexpr std::size_t kMostMoments = 96;
  const std::int64_t from = choose_unit();
  const std::int64_t shown_from = begin_of(time.unit, from);
  std::map<std::int64_t, ActionSum> moments;
  for (const Action& action : actions_) {
    if (!is_wanted(action.begun_us)) continue;
    sum_up(action);
    const audit::Tally one = tally_of(action);
    if (is_ahead(action.begun_us)) {
      time.later.add(one);
      continue;
    }
    const std::int64_t begins = begin_of(time.unit, action.begun_us);
    if (begins < shown_from) {
      time.earlier.add(one);
      continue;
    }
    moments[begins].add(one);
    if (moments.size() > kMostMoments) {
      time.earlier.add(moments.begin()->second);
      moments.erase(moments.begin());
    }
  }
  for (const auto& [begins, sum] : moments) time.moments.push_back({begins, sum});
  actions_ = {};
  places_ = {};
}

}  // namespace cordon
