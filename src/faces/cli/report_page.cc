#include "faces/cli/report_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "faces/cli/explained.h"
#include "faces/cli/html_page.h"
#include "faces/cli/report_file.h"

namespace cordon {
namespace {

using Markup = HtmlPage::Markup;
using Rows = std::vector<std::vector<Markup>>;

// A page of a hundred thousand rows is read by nobody, and opened by no phone.
constexpr std::size_t kMostRows = 1000;

Markup code(std::string_view text) { return HtmlPage::element("code", text); }

Markup words(std::string_view text) { return HtmlPage::text_of(text); }

const Node& part(const Node& node, const char* name) {
  static const Node none{NodeMap{}};
  const Node* found = node.find(name);
  return found != nullptr && found->map() != nullptr ? *found : none;
}

const NodeMap& members_of(const Node& node) {
  static const NodeMap none;
  const NodeMap* found = node.map();
  return found != nullptr ? *found : none;
}

std::string joined(const NodeList& list) {
  std::string text;
  for (const Node& one : list) {
    if (const std::string* word = one.text()) text += (text.empty() ? "" : ", ") + *word;
  }
  return text;
}

void add_end(const Node& report, const PageOf& of, HtmlPage& page) {
  const auto code_of_end = integer_in(report, "exit_code");
  const std::string ended = ended_words(report);
  const bool good = code_of_end == 0;
  page.add(HtmlPage::element("p", ended.empty() ? "not started" : ended, good ? "good" : "bad"));
  std::string command;
  for (const std::string& word : of.argv) command += (command.empty() ? "" : " ") + quote(word);
  Rows rows;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) rows.push_back({words(name), code(value)});
  };
  add("Command", command);
  add("Time", std::to_string(integer_in(report, "duration_ms").value_or(0)) + " ms");
  add("Policy", word_in(report, "policy_hash"));
  add("Session", word_in(part(report, "session"), "id"));
  add("Audit record", word_in(part(report, "audit"), "event_id"));
  page.table("The run", {"What", "Value"}, rows);
}

void add_explanation(const Node& report, HtmlPage& page) {
  page.heading("What was denied, and what to do");
  const std::vector<ExplainedLine> lines = explain_report(report);
  if (lines.empty()) {
    page.paragraph("Nothing was denied, taken away, moved or held back that left a trace.");
    return;
  }
  Rows rows;
  for (const ExplainedLine& line : lines) {
    if (rows.size() == kMostRows) break;
    // Paths break anywhere: on a phone what to do stands beside what happened, and not out of
    // sight.
    rows.push_back({HtmlPage::element("span", line.what, "long"),
                    HtmlPage::element("span", line.cure, "long")});
  }
  page.table("Each with its rule and its cure", {"What happened", "What to do"}, rows);
}

// A limit that is measured, with what was used of it.
struct MeasuredLimit {
  const char* limit;  // in enforcement.limits
  const char* bound;  // in policy.limits
  const char* used;   // in usage; null: the duration
  bool bytes;
};
constexpr MeasuredLimit kMeasured[] = {
    // NOLINT(modernize-avoid-c-arrays)
    {"memory", "memory_bytes", "max_rss_bytes", true},
    {"cpu", "cpu_ms", "cpu_ms", false},
    {"wall", "wall_ms", nullptr, false},
};

std::string amount(std::int64_t value, bool bytes) {
  return bytes ? format_size(static_cast<std::uint64_t>(value)) : std::to_string(value) + " ms";
}

Markup used_of(const Node& report, const std::string& limit) {
  for (const MeasuredLimit& one : kMeasured) {
    if (limit != one.limit) continue;
    const auto most = integer_in(part(part(report, "policy"), "limits"), one.bound);
    const auto used = one.used != nullptr ? integer_in(part(report, "usage"), one.used)
                                          : integer_in(report, "duration_ms");
    if (!most || !used) break;
    return HtmlPage::bar(HtmlPage::Bar::Limit, static_cast<double>(*used),
                         static_cast<double>(*most),
                         amount(*used, one.bytes) + " of " + amount(*most, one.bytes));
  }
  return HtmlPage::element("span", "not measured", "quiet");
}

void add_enforcement(const Node& report, HtmlPage& page) {
  page.heading("What held it");
  const Node& enforcement = part(report, "enforcement");
  static const std::map<std::string, std::string> kLayerWords = {
      {"namespaces", "namespaces of its own"},
      {"bind_mounts", "a file view of its own"},
      {"landlock", "Landlock"},
      {"seccomp", "a system call filter"},
      {"cap_drop", "no capabilities"},
      {"no_new_privs", "no new privileges"}};
  Rows rows;
  for (const auto& [key, name] : kLayerWords) {
    const bool holds = is_set(enforcement, key.c_str());
    rows.push_back({words(name), HtmlPage::element("span", holds ? "measured" : "not there",
                                                   holds ? "good" : "bad")});
  }
  rows.push_back({words("network"), words(word_in(enforcement, "network"))});
  page.table("Layers, by backend " + word_in(enforcement, "backend"), {"Layer", "State"}, rows);
  const std::string missing = joined(list_in(enforcement, "missing"));
  const std::string lost = joined(list_in(enforcement, "lost"));
  if (!missing.empty()) page.paragraph("Missing: " + missing);
  if (!lost.empty()) page.paragraph("Not held on this host: " + lost);
  rows.clear();
  for (const auto& [name, holder] : members_of(part(enforcement, "limits"))) {
    const std::string* by = holder.text();
    rows.push_back({words(name), words(by != nullptr ? *by : ""), used_of(report, name)});
  }
  if (!rows.empty()) page.table("Limits", {"Limit", "Held by", "Used"}, rows);
}

void add_changes(const Node& report, HtmlPage& page) {
  page.heading("What it changed");
  const NodeList& changes = list_in(report, "changes");
  const NodeList& moved = list_in(report, "handoff");
  if (changes.empty() && moved.empty()) {
    page.paragraph("Nothing was held back or moved. What it wrote into its grants is there.");
    return;
  }
  Rows rows;
  for (const Node& one : changes) {
    if (rows.size() == kMostRows) break;
    rows.push_back({code(word_in(one, "path")), words(word_in(one, "change")),
                    words(word_in(one, "state")), words(word_in(one, "reason"))});
  }
  if (!rows.empty()) {
    page.table(fmt::format("{} of {} changes", rows.size(), changes.size()),
               {"Path", "Change", "State", "Reason"}, rows);
  }
  rows.clear();
  for (const Node& one : moved) {
    if (rows.size() == kMostRows) break;
    rows.push_back(
        {code(word_in(one, "path")), words(word_in(one, "kind")), code(word_in(one, "moved_to"))});
  }
  if (!rows.empty()) page.table("Moved out of the tree", {"Path", "Kind", "Lies in"}, rows);
}

void add_connections(const Node& report, HtmlPage& page) {
  const NodeList& connections = list_in(report, "connections");
  if (connections.empty()) return;
  page.heading("Whom it talked to");
  std::int64_t most = 1;
  const auto bytes = [](const Node& one) {
    return integer_in(one, "sent").value_or(0) + integer_in(one, "received").value_or(0);
  };
  for (const Node& one : connections) most = std::max(most, bytes(one));
  Rows rows;
  for (const Node& one : connections) {
    if (rows.size() == kMostRows) break;
    const std::string host =
        word_in(one, "host").empty() ? word_in(one, "address") : word_in(one, "host");
    const bool allowed = is_set(one, "allowed");
    rows.push_back(
        {code(host + ":" + std::to_string(integer_in(one, "port").value_or(0))),
         HtmlPage::element("span", allowed ? "allowed" : "denied", allowed ? "good" : "bad"),
         words(word_in(one, "rule")),
         HtmlPage::bar(HtmlPage::Bar::Share, static_cast<double>(bytes(one)),
                       static_cast<double>(most),
                       format_size(static_cast<std::uint64_t>(bytes(one))))});
  }
  page.table(fmt::format("{} of {} destinations", rows.size(), connections.size()),
             {"Destination", "Verdict", "Rule", "Sent and received"}, rows);
}

}  // namespace

std::string report_page(const Node& report, const PageOf& of) {
  const std::string run = word_in(report, "run_id");
  HtmlPage page(run.empty() ? "A run that was refused" : "Run " + run, kPageOfReport);
  add_end(report, of, page);
  add_explanation(report, page);
  if (!members_of(part(report, "error")).empty()) {
    page.heading("What held it");
    page.paragraph("Nothing was started.");
    return page.text();
  }
  add_enforcement(report, page);
  add_changes(report, page);
  add_connections(report, page);
  for (const char* stream : {"stdout", "stderr"}) {
    const std::string text = word_in(report, stream);
    if (!text.empty()) page.folded(stream, sanitize_lines(text));
  }
  return page.text();
}

std::string page_of(std::string_view report, const PageOf& of) {
  const auto node = read_json_message(report, kLargestReport);
  return node ? report_page(*node, of) : std::string(report);
}

}  // namespace cordon
