#include "faces/cli/audit_forms.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "audit/files.h"
#include "audit/record.h"
#include "base/path.h"
#include "base/text.h"
#include "faces/cli/audit_flags.h"
#include "faces/cli/console.h"
#include "faces/cli/verbs.h"
#include "host/resolve.h"

namespace cordon {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;

Result<std::optional<std::int64_t>> when(const Arguments& arguments, FlagId id, DayEdge edge) {
  const auto text = arguments.value(id);
  if (!text) return std::optional<std::int64_t>();
  const auto moment = parse_when(*text, audit::system_clock().wall_us(), edge);
  if (!moment) {
    return fail(usage_error("not a time: " + quote(*text),
                            "write 2h, 7d, 2026-11-15 or 2026-11-15T08:30:00Z (UTC)"));
  }
  return moment;
}

Result<audit::Redactor> redactor_of(const AuditPlace& where) {
  CORDON_TRY(directory,
             audit::open_private_directory(where.place.directory, audit::IfAbsent::Refuse));
  CORDON_TRY(key, audit::load_key(directory.get(), "key", audit::IfMissing::Refuse));
  return audit::Redactor(key, where.caller);
}

// What the log calls a path that a person named.
Result<std::string> label_of(std::string_view text, const AuditPlace& where) {
  const bool is_label = text.starts_with('@') || text.find('#') != std::string_view::npos;
  if (is_label) return std::string(text);
  CORDON_TRY(found, canonicalize(std::string(text), where.caller.cwd, where.caller));
  CORDON_TRY(redactor, redactor_of(where));
  // A home or a directory that everybody has is written as it is.
  return redactor.place(found.path).text();
}

}  // namespace

Result<AuditPlace> audit_place() {
  CORDON_TRY(caller, identify_caller());
  audit::Place place = audit::place_of(caller);
  return AuditPlace{std::move(caller), std::move(place)};
}

bool is_no_log(const Error& error) {
  return error.kind == ErrorKind::Audit && error.error_number == ENOENT;
}

std::optional<std::int64_t> parse_when(std::string_view text, std::int64_t now_us, DayEdge edge) {
  if (const auto day = audit::start_of_day(text)) {
    return edge == DayEdge::First ? *day : *day + audit::kDayUs;
  }
  if (text.ends_with('d')) {
    constexpr std::uint64_t kMost = 100'000;
    const auto days = parse_number(text.substr(0, text.size() - 1));
    if (!days || *days > kMost) return std::nullopt;
    return now_us - static_cast<std::int64_t>(*days) * audit::kDayUs;
  }
  if (text.ends_with('Z')) {
    std::string full(text.substr(0, text.size() - 1));
    if (full.size() == 16) full += ":00";
    if (full.size() == 19) full += ".000000";
    return audit::parse_moment(full + "Z");
  }
  const auto back = parse_duration(text);
  if (!back || *back > std::uint64_t{100'000} * 86'400'000) return std::nullopt;
  return now_us - static_cast<std::int64_t>(*back) * 1000;
}

Result<audit::Filter> audit_filter(const Arguments& arguments, const AuditPlace& where) {
  audit::Filter filter;
  // An empty word is no filter, and would show everything in its place.
  for (const GivenFlag& flag : arguments.flags) {
    constexpr std::array kWords{FlagId::OutcomeIs, FlagId::Tool, FlagId::SessionId, FlagId::Agent};
    if (!flag.value.empty() || std::ranges::find(kWords, flag.id) == kWords.end()) continue;
    return fail(usage_error("option " + std::string(flag.name) + " has an empty value",
                            "leave it out to see all"));
  }
  CORDON_TRY(since, when(arguments, FlagId::Since, DayEdge::First));
  CORDON_TRY(until, when(arguments, FlagId::Until, DayEdge::Behind));
  filter.since_us = since;
  filter.until_us = until;
  filter.outcome = arguments.value(FlagId::OutcomeIs).value_or("");
  filter.denied = arguments.has(FlagId::Denied);
  filter.tool = arguments.value(FlagId::Tool).value_or("");
  filter.in_session = arguments.has(FlagId::Session);
  filter.session = arguments.value(FlagId::SessionId).value_or("");
  if (const auto agent = arguments.value(FlagId::Agent)) {
    CORDON_TRY(redactor, redactor_of(where));
    filter.agent = redactor.word(*agent).text();
  }
  filter.without_agent = arguments.has(FlagId::Human);
  const bool known = filter.outcome.empty() || filter.outcome == "pending" ||
                     filter.outcome == "success" || filter.outcome == "failure" ||
                     audit::ending_with_reason(filter.outcome).has_value();
  if (!known) {
    const auto near = nearest(filter.outcome, flags::kOutcomeChoices);
    return fail(
        usage_error("unknown outcome " + quote(filter.outcome),
                    near ? "did you mean " + *near + "?" : "cordon audit list --help lists them"));
  }
  if (const auto limit = arguments.value(FlagId::Limit)) {
    filter.limit = parse_number(*limit);
    if (!filter.limit || *filter.limit == 0 || *filter.limit > 1'000'000'000) {
      return fail(usage_error("--limit " + quote(*limit) + " is not a number above zero",
                              "write --limit 50, with digits alone"));
    }
  }
  if (const auto path = arguments.value(FlagId::PathLabel)) {
    CORDON_TRY(label, label_of(*path, where));
    filter.path = std::move(label);
  }
  return filter;
}

audit::Progress audit_progress(std::string_view what) {
  if (!counts_in_place()) return {};
  return [what = std::string(what)](std::uint64_t done, std::uint64_t total) {
    const std::uint64_t percent = total == 0 ? 100 : done * 100 / total;
    say("\r" + what + " " + std::to_string(percent) + "%" + (done >= total ? "\r\x1b[K" : ""));
  };
}

int audit_failure_status(const Error& error) {
  if (is_no_log(error)) {
    say("cordon: there is no audit log yet\n");
    return kAnswerNo;
  }
  say_error(error);
  return kAnswerError;
}

std::string outcome_text(const audit::Event& event) {
  if (event.reason == "exit" && event.exit_code) return "exit " + std::to_string(*event.exit_code);
  if (event.reason == "signal" && !event.signal.empty()) return event.signal;
  return event.reason.empty() ? event.outcome : event.reason;
}

std::string what_text(const audit::Event& event) {
  return event.tool.empty() ? event.action : event.tool;
}

Node event_node(const audit::Event& event) {
  const auto text = [](const std::string& value) { return value.empty() ? Node() : Node(value); };
  const auto number = [](const std::optional<std::int64_t>& value) {
    return value ? Node(*value) : Node();
  };
  Node node;
  node.set("seq", Node(event.seq))
      .set("event_id", event.event_id)
      .set("begun", audit::format_moment(event.begun_us))
      .set("ended", event.ended_us ? Node(audit::format_moment(*event.ended_us)) : Node())
      .set("action", text(event.action))
      .set("tool", text(event.tool))
      .set("resource", text(event.resource))
      .set("cwd", text(event.cwd))
      .set("outcome", text(event.outcome))
      .set("reason", text(event.reason))
      .set("backend", text(event.backend))
      .set("exit_code", number(event.exit_code))
      .set("signal", text(event.signal))
      .set("duration_ms", number(event.duration_ms))
      .set("denials", Node(event.denials))
      .set("error_kind", text(event.error_kind));
  return node;
}

namespace {

using audit::Event;

Node text(const std::string& value) { return value.empty() ? Node() : Node(value); }
Node number_or_null(const std::optional<std::int64_t>& value) {
  return value ? Node(*value) : Node();
}

// A dotted name is a member of an object.
struct Field {
  std::string_view name;
  Node (*value)(const Event&);
};

// Identifiers of the classification; 0 stands for unknown, 99 for other.
constexpr Field kOcsf[] = {
    {"activity_id", [](const Event&) { return Node(1); }},   // Launch
    {"category_uid", [](const Event&) { return Node(1); }},  // System Activity
    {"class_uid", [](const Event&) { return Node(1007); }},  // Process Activity
    {"type_uid", [](const Event&) { return Node(100701); }},
    {"severity_id", [](const Event& e) { return Node(e.outcome == "failure" ? 2 : 1); }},
    {"time", [](const Event& e) { return Node(e.begun_us / 1000); }},
    {"end_time", [](const Event& e) { return e.ended_us ? Node(*e.ended_us / 1000) : Node(); }},
    {"duration", [](const Event& e) { return number_or_null(e.duration_ms); }},
    {"status_id",
     [](const Event& e) {
       return Node(e.outcome == "success" ? 1 : e.outcome == "failure" ? 2 : 0);
     }},
    {"status_detail", [](const Event& e) { return text(e.reason); }},
    {"exit_code", [](const Event& e) { return number_or_null(e.exit_code); }},
    {"metadata.version", [](const Event&) { return Node("1.4.0"); }},
    {"metadata.product.name", [](const Event&) { return Node("Cordon"); }},
    {"metadata.product.vendor_name", [](const Event&) { return Node("Cordon"); }},
    {"metadata.uid", [](const Event& e) { return Node(e.event_id); }},
    {"metadata.sequence", [](const Event& e) { return Node(e.seq); }},
    {"actor.app_name", [](const Event& e) { return Node(e.tool.empty() ? "cordon" : e.tool); }},
    {"device.type_id", [](const Event&) { return Node(0); }},
    {"process.uid", [](const Event& e) { return Node(e.event_id); }},
    {"process.working_directory", [](const Event& e) { return text(e.cwd); }},
    {"process.sandbox", [](const Event& e) { return text(e.backend); }},
    {"unmapped.action", [](const Event& e) { return text(e.action); }},
    {"unmapped.resource", [](const Event& e) { return text(e.resource); }},
    {"unmapped.signal", [](const Event& e) { return text(e.signal); }},
    {"unmapped.denials", [](const Event& e) { return Node(e.denials); }},
    {"unmapped.error_kind", [](const Event& e) { return text(e.error_kind); }},
};

// The member of that name, made if it is not there.
Node& member(Node& node, std::string_view name) {
  if (node.find(name) == nullptr) node.set(std::string(name), Node(NodeMap{}));
  for (auto& [key, value] : std::get<NodeMap>(node.value)) {
    if (key == name) return value;
  }
  return node;
}

void put(Node& node, std::string_view name, Node value) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) {
    node.set(std::string(name), std::move(value));
  } else {
    put(member(node, name.substr(0, dot)), name.substr(dot + 1), std::move(value));
  }
}

std::string quoted(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string out = "\"";
  for (const char c : cell) out.append(c == '"' ? 2 : 1, c);
  return out + "\"";
}

}  // namespace

Node ocsf_event(const Event& event, const std::string& host) {
  Node node{NodeMap{}};
  for (const Field& field : kOcsf) {
    Node value = field.value(event);
    // Absent and null differ for its readers: what is not known is left out.
    if (!std::holds_alternative<std::nullptr_t>(value.value))
      put(node, field.name, std::move(value));
  }
  put(node, "device.name", Node(host));
  return node;
}

// The columns are those of the JSON answer.
std::string csv_header() {
  std::string line;
  const Node columns = event_node(Event{});
  for (const auto& [key, value] : std::get<NodeMap>(columns.value)) {
    line.append(line.empty() ? "" : ",").append(key);
  }
  return line + "\r\n";
}

std::string csv_row(const Event& event) {
  std::string line;
  bool first = true;
  const Node columns = event_node(event);
  for (const auto& [key, value] : std::get<NodeMap>(columns.value)) {
    if (!first) line += ",";
    first = false;
    if (const std::string* cell = value.text()) {
      line += quoted(sanitize(*cell));
    } else if (const auto* count = std::get_if<std::int64_t>(&value.value)) {
      line += std::to_string(*count);
    }
  }
  return line + "\r\n";
}

}  // namespace cordon
