#include "cli/audit_common.h"

#include <unistd.h>

#include <cerrno>

#include "audit/moment.h"
#include "audit/private_file.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/talk.h"
#include "cli/verbs.h"
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

// What the log calls a path that a person named.
Result<std::string> label_of(std::string_view text, const AuditPlace& where) {
  const bool is_label = text.starts_with('@') || text.find('#') != std::string_view::npos;
  if (is_label) return std::string(text);
  CORDON_TRY(found, canonicalize(std::string(text), where.caller.cwd, where.caller));
  CORDON_TRY(directory,
             audit::open_private_directory(where.place.directory, audit::IfAbsent::Refuse));
  CORDON_TRY(key, audit::load_key(directory.get(), "key", audit::IfMissing::Refuse));
  const audit::Label label = audit::Redactor(key, where.caller).place(found.path);
  // A home or a directory that everybody has is written as it is.
  return label.text();
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
  CORDON_TRY(since, when(arguments, FlagId::Since, DayEdge::First));
  CORDON_TRY(until, when(arguments, FlagId::Until, DayEdge::Behind));
  filter.since_us = since;
  filter.until_us = until;
  filter.outcome = arguments.value(FlagId::OutcomeIs).value_or("");
  filter.tool = arguments.value(FlagId::Tool).value_or("");
  const bool known = filter.outcome.empty() || filter.outcome == "pending" ||
                     filter.outcome == "success" || filter.outcome == "failure" ||
                     audit::ending_with_reason(filter.outcome).has_value();
  if (!known) {
    return fail(usage_error("unknown outcome " + quote(filter.outcome),
                            "cordon audit list --help lists them"));
  }
  if (const auto limit = arguments.value(FlagId::Limit)) {
    filter.limit = parse_number(*limit);
    if (!filter.limit || *filter.limit == 0 || *filter.limit > 1'000'000'000) {
      return fail(usage_error("--limit " + quote(*limit) + " is not a number above zero"));
    }
  }
  if (const auto path = arguments.value(FlagId::PathLabel)) {
    CORDON_TRY(label, label_of(*path, where));
    filter.path = std::move(label);
  }
  return filter;
}

audit::Progress audit_progress(std::string_view what) {
  if (::isatty(STDERR_FILENO) != 1) return {};
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

}  // namespace cordon
