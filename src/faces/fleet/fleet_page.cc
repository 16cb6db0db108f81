#include "faces/fleet/fleet_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "faces/cli/html_page.h"

namespace cordon {
namespace {

using Markup = HtmlPage::Markup;
using Cells = std::vector<Markup>;

// What a person reads, and a phone opens.
constexpr std::size_t kMostRows = 50;

// Those of a table that come first, and what the others have together.
template <typename Row>
struct Top {
  std::vector<const Row*> rows;
  Row others;
  std::size_t other_names = 0;
  bool more_names = false;  // than were told apart
};

void add_to(FleetRow& sum, const FleetRow& row) { sum.sum.add(row.sum); }
void add_to(FleetNode& sum, const FleetNode& row) {
  sum.sum.add(row.sum);
  sum.connections += row.connections;
}
void add_to(FleetCount& sum, const FleetCount& row) {
  sum.count += row.count;
  sum.sent += row.sent;
  sum.received += row.received;
}

std::uint64_t trouble_of(const ActionSum& sum) { return sum.denials + sum.refusals + sum.limits; }

bool comes_first(const FleetRow& a, const FleetRow& b) { return a.sum.count > b.sum.count; }
bool comes_first(const FleetCount& a, const FleetCount& b) { return a.count > b.count; }
// Whoever looks at a thousand nodes looks for those that something is the matter with.
bool comes_first(const FleetNode& a, const FleetNode& b) {
  return std::pair(trouble_of(a.sum), a.sum.count) > std::pair(trouble_of(b.sum), b.sum.count);
}

bool is_there(const FleetRow& row) { return row.sum.count > 0; }
bool is_there(const FleetNode& row) { return row.sum.count > 0; }
bool is_there(const FleetCount& row) { return row.count > 0; }

template <typename Row>
Top<Row> top_of(const NamedRows<Row>& rows) {
  Top<Row> top;
  for (const Row& row : rows.named())
    if (is_there(row)) top.rows.push_back(&row);
  std::ranges::sort(top.rows, [](const Row* a, const Row* b) {
    if (comes_first(*a, *b)) return true;
    return !comes_first(*b, *a) && a->name < b->name;
  });
  for (std::size_t i = kMostRows; i < top.rows.size(); ++i) add_to(top.others, *top.rows[i]);
  if (top.rows.size() > kMostRows) {
    top.other_names = top.rows.size() - kMostRows;
    top.rows.resize(kMostRows);
  }
  add_to(top.others, rows.shared());
  top.more_names = rows.overflowed();
  return top;
}

// "a moment ago" is no record: UTC, as the log has it.
std::string moment(std::int64_t wall_us) {
  std::string text = audit::format_moment(wall_us).substr(0, 19);
  std::ranges::replace(text, 'T', ' ');
  return text;
}

std::string moment_name(FleetUnit unit, std::int64_t begins_us) {
  constexpr std::size_t kMonth = 7;
  constexpr std::size_t kMinute = 16;
  switch (unit) {
    case FleetUnit::Hour:
      return moment(begins_us).substr(0, kMinute);
    case FleetUnit::Day:
      return audit::day_of(begins_us);
    case FleetUnit::Month:
      return audit::day_of(begins_us).substr(0, kMonth);
  }
  return {};
}

std::string_view name_of(FleetUnit unit) {
  switch (unit) {
    case FleetUnit::Hour:
      return "hour";
    case FleetUnit::Day:
      return "day";
    case FleetUnit::Month:
      return "month";
  }
  return {};
}

std::string span_words(std::uint64_t seconds) {
  if (seconds < 120) return std::to_string(seconds) + " s";
  if (seconds < 7200) return std::to_string(seconds / 60) + " min";
  if (seconds < 172'800) return std::to_string(seconds / 3600) + " h";
  return std::to_string(seconds / 86'400) + " d";
}

std::string time_words(std::uint64_t milliseconds) {
  if (milliseconds < 10'000) return std::to_string(milliseconds) + " ms";
  return span_words(milliseconds / 1000);
}

std::string counted(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

Markup number(std::uint64_t count) { return HtmlPage::text_of(std::to_string(count)); }
// Nothing is said of what there is none of; what there is stands out.
Markup bad_number(std::uint64_t count) {
  return HtmlPage::element("span", std::to_string(count), count > 0 ? "bad" : "quiet");
}
Markup bytes(std::uint64_t count) {
  return HtmlPage::text_of(count < 1024 ? std::to_string(count) : format_size(count / 1024 * 1024));
}

template <typename Row>
std::string caption_of(std::string_view title, const Top<Row>& top, const std::string& of_others) {
  std::string text(title);
  if (top.other_names > 0) {
    text += fmt::format(". The first {} of {}; the other {} are left out, with {}", top.rows.size(),
                        top.rows.size() + top.other_names, top.other_names, of_others);
  }
  if (top.more_names) {
    text += fmt::format(". More than {} are not told apart", NamedRows<Row>::kMost);
    if (top.other_names == 0) text += ", and have " + of_others;
  }
  return text;
}

std::string sum_words(const ActionSum& sum) {
  return counted(sum.count, "action") + ", " + counted(sum.denials, "denial") + ", " +
         counted(sum.refusals, "refusal") + " and " + std::to_string(sum.limits) +
         " ended by a limit";
}

Cells sum_cells(Markup name, const ActionSum& sum, std::uint64_t most) {
  return {std::move(name),
          HtmlPage::bar(HtmlPage::Bar::Share, static_cast<double>(sum.count),
                        static_cast<double>(most), std::to_string(sum.count)),
          bad_number(sum.failures),
          bad_number(sum.refusals),
          bad_number(sum.denials),
          bad_number(sum.limits),
          HtmlPage::text_of(time_words(sum.duration_ms))};
}

void add_groups(HtmlPage& page, std::string_view title, std::string_view column,
                const NamedRows<FleetRow>& groups) {
  const Top<FleetRow> top = top_of(groups);
  if (top.rows.empty()) return;
  std::vector<Cells> rows;
  const std::uint64_t most = top.rows.front()->sum.count;
  for (const FleetRow* row : top.rows)
    rows.push_back(sum_cells(HtmlPage::text_of(row->name), row->sum, most));
  page.table(caption_of(title, top, sum_words(top.others.sum)),
             {column, "Actions", "Failed", "Refused", "Denials", "Limits", "Time"}, rows);
}

void add_nodes(HtmlPage& page, const NamedRows<FleetNode>& nodes) {
  const Top<FleetNode> top = top_of(nodes);
  std::uint64_t most = 0;
  for (const FleetNode* node : top.rows) most = std::max(most, node->sum.count);
  std::vector<Cells> rows;
  for (const FleetNode* node : top.rows) {
    Cells cells = sum_cells(HtmlPage::element("code", node->name), node->sum, most);
    cells.push_back(number(node->connections));
    cells.push_back(HtmlPage::text_of(moment(node->last_us)));
    const auto ahead = static_cast<std::uint64_t>(node->ahead_us / 1'000'000);
    cells.push_back(ahead == 0 ? HtmlPage::element("span", "", "quiet")
                               : HtmlPage::element("span", span_words(ahead) + " ahead", "bad"));
    rows.push_back(std::move(cells));
  }
  page.table(caption_of("Those with the most denials, refusals and limits first", top,
                        sum_words(top.others.sum)),
             {"Node", "Actions", "Failed", "Refused", "Denials", "Limits", "Time", "Connections",
              "Newest action (UTC)", "Clock"},
             rows);
}

std::vector<std::string_view> parts_of(const FleetCount& row, std::size_t count) {
  std::vector<std::string_view> parts = split(row.name, '\n');
  parts.resize(count);
  return parts;
}

enum class Traffic { None, Bytes };

// `columns`: of the parts of a name, and what is counted.
void add_counts(HtmlPage& page, std::string_view title, std::vector<std::string_view> columns,
                const NamedRows<FleetCount>& counts, Traffic traffic) {
  const Top<FleetCount> top = top_of(counts);
  if (top.rows.empty() && top.others.count == 0) return;
  const std::size_t parts = columns.size() - 1;
  const std::string what = lower_case(columns.back());
  std::vector<Cells> rows;
  for (const FleetCount* row : top.rows) {
    Cells cells;
    for (const std::string_view part : parts_of(*row, parts))
      cells.push_back(HtmlPage::element("code", part));
    cells.push_back(HtmlPage::bar(HtmlPage::Bar::Share, static_cast<double>(row->count),
                                  static_cast<double>(top.rows.front()->count),
                                  std::to_string(row->count)));
    if (traffic == Traffic::Bytes) {
      cells.push_back(bytes(row->sent));
      cells.push_back(bytes(row->received));
    }
    cells.push_back(number(row->node_count()));
    rows.push_back(std::move(cells));
  }
  if (traffic == Traffic::Bytes) columns.insert(columns.end(), {"Sent", "Received"});
  columns.emplace_back("Nodes");
  page.table(caption_of(title, top, std::to_string(top.others.count) + " " + what), columns, rows);
}

// One column for each hour, day or month, those included when nothing was done.
std::vector<HtmlPage::Column> columns_of(const FleetTime& time) {
  std::vector<HtmlPage::Column> columns;
  const auto next_of = [&](std::int64_t begins_us) {
    if (time.unit == FleetUnit::Hour) return begins_us + std::int64_t{3600} * 1'000'000;
    if (time.unit == FleetUnit::Day) return begins_us + audit::kDayUs;
    // Thirty-two days from the first of a month are in the next one.
    const std::string day = audit::day_of(begins_us + 32 * audit::kDayUs);
    return audit::start_of_day(day.substr(0, 7) + "-01").value_or(begins_us + 32 * audit::kDayUs);
  };
  // A gap of years, which one wrong clock makes, is not drawn.
  constexpr std::size_t kMostColumns = 120;
  std::int64_t expected = time.moments.empty() ? 0 : time.moments.front().begins_us;
  for (const FleetMoment& at : time.moments) {
    while (expected < at.begins_us && columns.size() < kMostColumns) {
      columns.push_back({0, 0, moment_name(time.unit, expected) + ": nothing"});
      expected = next_of(expected);
    }
    columns.push_back({static_cast<double>(at.sum.count),
                       static_cast<double>(std::min(trouble_of(at.sum), at.sum.count)),
                       moment_name(time.unit, at.begins_us) + ": " + sum_words(at.sum)});
    expected = next_of(at.begins_us);
  }
  return columns;
}

void add_time(HtmlPage& page, const FleetTime& time) {
  page.heading("Over time");
  if (!time.moments.empty()) {
    page.add(Markup("<figure>"));
    page.add(HtmlPage::columns(
        fmt::format("Actions by {}, and how many denials, refusals and limits there were",
                    name_of(time.unit)),
        columns_of(time)));
    page.add(HtmlPage::element(
        "figcaption",
        fmt::format("Actions by {}, from {} to {} (UTC). In red: denials, refusals and limits.",
                    name_of(time.unit), moment_name(time.unit, time.moments.front().begins_us),
                    moment_name(time.unit, time.moments.back().begins_us)),
        "quiet"));
    page.add(Markup("</figure>\n"));
  }
  std::vector<Cells> rows;
  std::uint64_t most = 0;
  for (const FleetMoment& at : time.moments) most = std::max(most, at.sum.count);
  for (auto at = time.moments.rbegin(); at != time.moments.rend(); ++at) {
    rows.push_back(
        sum_cells(HtmlPage::text_of(moment_name(time.unit, at->begins_us)), at->sum, most));
  }
  if (time.earlier.count > 0)
    rows.push_back(sum_cells(HtmlPage::text_of("before"), time.earlier, most));
  if (time.later.count > 0)
    rows.push_back(sum_cells(HtmlPage::element("span", "in the future of this host", "bad"),
                             time.later, most));
  page.table(fmt::format("By {} (UTC), the newest first", name_of(time.unit)),
             {"When", "Actions", "Failed", "Refused", "Denials", "Limits", "Time"}, rows);
}

void add_summary(HtmlPage& page, const FleetSums& sums, const FleetAsked& asked) {
  std::string from;
  for (const std::string& one : asked.from) from += (from.empty() ? "" : ", ") + one;
  std::string scope = "From " + from;
  if (!asked.range.node.empty()) scope += ", of the node " + asked.range.node;
  if (asked.range.since_us) scope += ", begun at " + moment(*asked.range.since_us) + " or later";
  if (asked.range.until_us) scope += ", begun before " + moment(*asked.range.until_us);
  page.paragraph(HtmlPage::element("span", scope + ". Times are UTC.", "quiet"));
  if (sums.all.count == 0) {
    page.paragraph("Nothing is recorded there.");
    return;
  }
  std::uint64_t nodes = 0;
  std::uint64_t connections = 0;
  for (const FleetNode& node : sums.nodes.named()) {
    if (node.sum.count > 0) ++nodes;
    connections += node.connections;
  }
  connections += sums.nodes.shared().connections;
  page.paragraph(fmt::format(
      "{} of {}, from {} to {}. {} of them commands. {} failed: {} by Cordon or the operator's "
      "bounds, {} by a limit. {} inside what was started, and {} to hosts.",
      counted(sums.all.count, "action"),
      sums.nodes.overflowed() ? fmt::format("more than {} nodes", nodes) : counted(nodes, "node"),
      moment(sums.first_us.value_or(0)), moment(sums.last_us.value_or(0)), sums.runs,
      sums.all.failures, counted(sums.all.refusals, "refusal"), sums.all.limits,
      counted(sums.all.denials, "denial"), counted(connections, "connection")));
  if (sums.pending > 0) {
    page.paragraph(counted(sums.pending, "action") +
                   " had not ended when it was recorded last: it runs, or its end was not copied "
                   "yet.");
  }
}

void add_strange(HtmlPage& page, const FleetSums& sums) {
  if (sums.strange == 0) return;
  std::string text = counted(sums.strange, "record") +
                     " of the database cannot be read and are not counted. cordon audit verify "
                     "--from tells what was done to them. The first:";
  for (const StrangeRecord& one : sums.first_strange)
    text += fmt::format(" {} number {};", one.node, one.seq);
  text.back() = '.';
  page.paragraph(HtmlPage::element("strong", text, "bad"));
}

}  // namespace

std::string fleet_page(const FleetSums& sums, const FleetAsked& asked) {
  HtmlPage page("What a fleet did", kPageOfFleet);
  add_summary(page, sums, asked);
  add_strange(page, sums);
  if (sums.all.count == 0) return page.text();
  add_time(page, sums.time);
  page.heading("By node");
  add_nodes(page, sums.nodes);
  page.heading("By what, by whom, and how it ended");
  add_groups(page, "By verb or tool", "Verb or tool", sums.tools);
  add_groups(page, "By agent, of what was done in a session for one", "Agent", sums.agents);
  add_groups(page, "By how it ended", "End", sums.outcomes);
  page.heading("What was denied, refused and limited");
  if (sums.all.denials + sums.all.refusals + sums.all.limits == 0) page.paragraph("Nothing was.");
  add_counts(page, "Denied inside what was started", {"What", "Layer", "Rule", "Denials"},
             sums.denials, Traffic::None);
  add_counts(page, "Refused before anything was started", {"Why", "Kind of error", "Refusals"},
             sums.refusals, Traffic::None);
  add_counts(page, "Ended by a limit", {"Limit", "Actions"}, sums.limits, Traffic::None);
  page.heading("Hosts reached");
  if (top_of(sums.hosts).rows.empty() && top_of(sums.requests).rows.empty())
    page.paragraph("None.");
  add_counts(page, "By the rule that permitted it", {"Rule", "Address", "Port", "Connections"},
             sums.hosts, Traffic::Bytes);
  add_counts(page, "Requests, by the rule that decided", {"Rule", "Method", "Requests"},
             sums.requests, Traffic::Bytes);
  return page.text();
}

namespace {

Node left_out_node(std::size_t names, bool more, Node sums) {
  Node node;
  node.set("names", Node(std::uint64_t{names})).set("more_names", Node(more));
  if (const NodeMap* members = sums.map())
    for (const auto& [key, value] : *members) node.set(key, value);
  return node;
}

Node with_name(std::string_view key, const std::string& name, const Node& sums) {
  Node node;
  node.set(std::string(key), name);
  if (const NodeMap* members = sums.map())
    for (const auto& [member, value] : *members) node.set(member, value);
  return node;
}

Node table_node(NodeList rows, Node left_out) {
  Node node;
  node.set("rows", Node(std::move(rows))).set("left_out", std::move(left_out));
  return node;
}

Node groups_node(const NamedRows<FleetRow>& groups) {
  const Top<FleetRow> top = top_of(groups);
  NodeList rows;
  for (const FleetRow* row : top.rows)
    rows.push_back(with_name("name", row->name, sum_node(row->sum)));
  return table_node(std::move(rows),
                    left_out_node(top.other_names, top.more_names, sum_node(top.others.sum)));
}

Node nodes_node(const NamedRows<FleetNode>& nodes) {
  const Top<FleetNode> top = top_of(nodes);
  NodeList rows;
  for (const FleetNode* row : top.rows) {
    Node node = with_name("name", row->name, sum_node(row->sum));
    node.set("connections", Node(row->connections))
        .set("newest", audit::format_moment(row->last_us))
        .set("clock_ahead_ms", Node(static_cast<std::uint64_t>(row->ahead_us / 1000)));
    rows.push_back(std::move(node));
  }
  Node others = sum_node(top.others.sum);
  others.set("connections", Node(top.others.connections));
  return table_node(std::move(rows),
                    left_out_node(top.other_names, top.more_names, std::move(others)));
}

Node counts_node(const NamedRows<FleetCount>& counts, std::initializer_list<std::string_view> keys,
                 Traffic traffic) {
  const Top<FleetCount> top = top_of(counts);
  const auto add_numbers = [&](Node& node, const FleetCount& row) {
    node.set("count", Node(row.count));
    if (traffic == Traffic::Bytes)
      node.set("sent", Node(row.sent)).set("received", Node(row.received));
  };
  NodeList rows;
  for (const FleetCount* row : top.rows) {
    Node node;
    const auto parts = parts_of(*row, keys.size());
    for (std::size_t i = 0; i < parts.size(); ++i)
      node.set(std::string(keys.begin()[i]), parts[i].empty() ? Node() : Node(parts[i]));
    add_numbers(node, *row);
    node.set("nodes", Node(row->node_count()));
    rows.push_back(std::move(node));
  }
  Node others;
  add_numbers(others, top.others);
  return table_node(std::move(rows),
                    left_out_node(top.other_names, top.more_names, std::move(others)));
}

Node time_node(const FleetTime& time) {
  NodeList rows;
  for (const FleetMoment& at : time.moments)
    rows.push_back(with_name("begins", audit::format_moment(at.begins_us), sum_node(at.sum)));
  Node node;
  node.set("unit", name_of(time.unit))
      .set("rows", Node(std::move(rows)))
      .set("earlier", sum_node(time.earlier))
      .set("in_the_future", sum_node(time.later));
  return node;
}

Node strange_node(const FleetSums& sums) {
  NodeList first;
  for (const StrangeRecord& one : sums.first_strange) {
    Node node;
    node.set("node", one.node).set("seq", Node(one.seq));
    first.push_back(std::move(node));
  }
  Node node;
  node.set("count", Node(sums.strange)).set("first", Node(std::move(first)));
  return node;
}

}  // namespace

std::string fleet_json(const FleetSums& sums, const FleetAsked& asked) {
  const auto when = [](const std::optional<std::int64_t>& wall_us) {
    return wall_us ? Node(audit::format_moment(*wall_us)) : Node();
  };
  NodeList from;
  for (const std::string& one : asked.from) from.emplace_back(one);
  Node node;
  node.set("schema", "cordon.fleet-report/1")
      .set("from", Node(std::move(from)))
      .set("since", when(asked.range.since_us))
      .set("until", when(asked.range.until_us))
      .set("node", asked.range.node.empty() ? Node() : Node(asked.range.node))
      .set("records", Node(sums.records))
      .set("first", when(sums.first_us))
      .set("last", when(sums.last_us))
      .set("all", sum_node(sums.all))
      .set("commands", Node(sums.runs))
      .set("pending", Node(sums.pending))
      .set("time", time_node(sums.time))
      .set("nodes", nodes_node(sums.nodes))
      .set("outcomes", groups_node(sums.outcomes))
      .set("tools", groups_node(sums.tools))
      .set("agents", groups_node(sums.agents))
      .set("denials", counts_node(sums.denials, {"what", "layer", "rule"}, Traffic::None))
      .set("refusals", counts_node(sums.refusals, {"reason", "error_kind"}, Traffic::None))
      .set("limits", counts_node(sums.limits, {"limit"}, Traffic::None))
      .set("hosts", counts_node(sums.hosts, {"rule", "address", "port"}, Traffic::Bytes))
      .set("requests", counts_node(sums.requests, {"rule", "method"}, Traffic::Bytes))
      .set("unreadable", strange_node(sums));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

}  // namespace cordon
