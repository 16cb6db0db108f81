#include <sys/inotify.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <ctime>
#include <deque>
#include <map>

#include "audit/files.h"
#include "audit/project_names.h"
#include "base/path.h"
#include "base/text.h"
#include "faces/cli/action_sums.h"
#include "faces/cli/audit_forms.h"
#include "faces/cli/console.h"
#include "faces/cli/verbs.h"

namespace cordon {
namespace {

// Rows of a list without --limit.
constexpr std::uint64_t kUsualRows = 20;

// By the person's own clock; all zero where that cannot be told.
std::tm local_clock(std::int64_t moment_us) {
  const std::time_t seconds = moment_us / 1'000'000;
  std::tm parts{};
  (void)::localtime_r(&seconds, &parts);
  return parts;
}

std::string local_time(std::int64_t moment_us) {
  const std::tm parts = local_clock(moment_us);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts)};
}

std::string local_zone(std::int64_t moment_us) {
  const std::tm parts = local_clock(moment_us);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%Z", &parts)};
}

// As people write it: ~/project.
std::string project_text(const audit::Event& event, const audit::ProjectNames& names,
                         const Caller& caller) {
  std::string directory = names.directory_of(event.cwd).value_or(event.cwd);
  if (!caller.home.empty() && contains(caller.home, directory)) {
    directory = "~" + directory.substr(caller.home.size());
  }
  return directory;
}

std::string action_text(const audit::Event& event) {
  const bool elsewhere = !event.resource.empty() && event.resource != event.cwd;
  return what_text(event) + (elsewhere ? " " + event.resource : "");
}

std::string ending_text(const audit::Event& event) {
  const std::string outcome = outcome_text(event);
  if (event.denials == 0) return outcome;
  return outcome + ", " + std::to_string(event.denials) + " denied";
}

std::string table_of(const std::vector<audit::Event>& events, const Caller& caller) {
  const auto names = audit::ProjectNames::read(caller.state_directory);
  const std::string zone = local_zone(events.front().begun_us);
  TextTable table({{"SEQ", Align::Right},
                   {"BEGUN" + (zone.empty() ? "" : " (" + zone + ")")},
                   {"PROJECT"},
                   {"WHAT"},
                   {"OUTCOME"},
                   {"TIME", Align::Right}});
  for (const audit::Event& event : events) {
    const auto took = event.duration_ms.value_or(0);
    table.add({std::to_string(event.seq), local_time(event.begun_us),
               project_text(event, names, caller), action_text(event), ending_text(event),
               took > 0 ? format_duration(static_cast<std::uint64_t>(took)) : ""});
  }
  return table.text_for(STDOUT_FILENO);
}

// What an empty list means.
std::string nothing_text(const audit::Filter& filter, std::uint64_t left_out) {
  if (filter.denied || filter.outcome == "denied") return "nothing was denied\n";
  if (left_out > 0) return "nothing but runs of Cordon's own\n";
  const bool narrowed = filter.since_us || filter.until_us || !filter.outcome.empty() ||
                        !filter.tool.empty() || !filter.path.empty() || filter.in_session ||
                        !filter.session.empty() || !filter.agent.empty() || filter.without_agent;
  return narrowed ? "nothing that is recorded fits\n" : "nothing is recorded yet\n";
}

std::string events_json(const std::vector<audit::Event>& events) {
  NodeList list;
  for (const audit::Event& event : events) list.push_back(event_node(event));
  Node node;
  node.set("schema", "cordon.audit-list/1");
  node.set("events", Node(std::move(list)));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

struct Listed {
  std::vector<audit::Event> events;
  // Runs of Cordon's own among them that are not shown, by action.
  std::map<std::string, std::uint64_t> left_out;
  [[nodiscard]] std::uint64_t left_out_in_all() const {
    std::uint64_t sum = 0;
    for (const auto& [action, count] : left_out) sum += count;
    return sum;
  }
};

Result<Listed> wanted(const AuditPlace& where, const audit::Filter& filter) {
  Listed listed;
  auto index = audit::Index::open(where.place, audit_progress("indexing"));
  if (!index && is_no_log(index.error())) return listed;
  if (!index) return fail(std::move(index).error());
  CORDON_TRY(events, index->list(filter));
  listed.events = std::move(events);
  if (filter.own != audit::OwnRuns::Without) return listed;
  audit::Filter others = filter;
  others.own = audit::OwnRuns::Alone;
  others.limit.reset();
  // Of a list that was cut off those are counted that would stand in it.
  if (filter.limit && listed.events.size() >= *filter.limit) {
    others.since_us = listed.events.back().begun_us;
  }
  CORDON_TRY(tallies, index->tally(others));
  for (const audit::Tally& tally : tallies) listed.left_out[tally.tool] += tally.count;
  return listed;
}

// "11 runs of Cordon's own are left out (doctor: 11); --own shows them".
std::string left_out_text(const Listed& listed) {
  const std::uint64_t count = listed.left_out_in_all();
  if (count == 0) return {};
  std::string by;
  for (const auto& [action, one] : listed.left_out)
    by.append(by.empty() ? "" : ", ").append(action).append(": ").append(std::to_string(one));
  return std::to_string(count) + (count == 1 ? " run" : " runs") + " of Cordon's own " +
         (count == 1 ? "is" : "are") + " left out (" + by + "); --own shows " +
         (count == 1 ? "it" : "them") + "\n";
}

// The exit status.
Result<int> list(const Arguments& arguments) {
  CORDON_TRY(where, audit_place());
  CORDON_TRY(filter, audit_filter(arguments, where));
  const bool json = arguments.has(FlagId::Json);
  const bool usual = !json && !filter.limit;
  // One more than is shown tells whether there are more.
  if (usual) filter.limit = kUsualRows + 1;
  const bool asked = arguments.has(FlagId::OwnRuns) || audit::is_own_action(filter.tool);
  if (!json && !asked) filter.own = audit::OwnRuns::Without;
  CORDON_TRY(listed, wanted(where, filter));
  std::vector<audit::Event>& events = listed.events;
  const bool more = usual && events.size() > kUsualRows;
  if (more) events.pop_back();
  const std::string answer = json             ? events_json(events)
                             : events.empty() ? nothing_text(filter, listed.left_out_in_all())
                                              : table_of(events, where.caller);
  if (!say_answer(answer)) return kAnswerError;
  if (more) say("the newest " + std::to_string(kUsualRows) + "; --limit N shows more\n");
  say(left_out_text(listed));
  return events.empty() ? kAnswerNo : kAnswerYes;
}

}  // namespace

int verb_audit_list(const Arguments& arguments) {
  const auto status = list(arguments);
  return status ? *status : audit_failure_status(status.error());
}

namespace {

// What counts from the end: "last" is the first of the newest, as "-1" is.
std::optional<std::uint64_t> place_from_the_end(std::string_view id) {
  if (id == "last") return 1;
  return id.starts_with('-') ? parse_number(id.substr(1)) : std::nullopt;
}

Result<std::vector<audit::Event>> nth_newest(audit::Index& index, std::uint64_t place) {
  audit::Filter filter;
  filter.limit = place;
  filter.own = audit::OwnRuns::Without;
  CORDON_TRY(events, index.list(filter));
  if (place == 0 || events.size() < place) return std::vector<audit::Event>();
  return std::vector<audit::Event>{std::move(events.back())};
}

// Without an operand the newest.
std::string asked_event(const Arguments& arguments) {
  return arguments.operands.empty() ? "last" : std::string(arguments.operands.front());
}

struct Found {
  audit::Event event;
  audit::Lines lines;
};

Result<std::optional<Found>> find_event(const Arguments& arguments) {
  const std::string id = asked_event(arguments);
  if (arguments.operands.size() > 1 || id.empty()) {
    return fail(usage_error("name one ID", "cordon audit show last; cordon audit list has others"));
  }
  CORDON_TRY(where, audit_place());
  CORDON_TRY(index, audit::Index::open(where.place, audit_progress("indexing")));
  constexpr std::uint64_t kFarthest = 100'000;
  const auto place = place_from_the_end(id);
  if (place && *place > kFarthest) return std::optional<Found>();
  CORDON_TRY(events, place ? nth_newest(index, *place) : index.find(id));
  if (events.empty()) return std::optional<Found>();
  if (events.size() > 1) {
    return fail(usage_error(quote(id) + " begins more than one event id", "write more of it"));
  }
  CORDON_TRY(lines, index.lines(events.front()));
  return std::optional<Found>(Found{events.front(), std::move(lines)});
}

Node node_of(const std::string& line) {
  if (line.empty()) return {};
  auto node = read_json(line, "audit");
  return node ? std::move(*node) : Node();
}

// "key  value" lines; tables within tables are indented.
void describe_node(const Node& node, std::size_t depth, std::string& out) {
  const NodeMap* map = node.map();
  if (map == nullptr) return;
  for (const auto& [key, value] : *map) {
    const bool nothing = std::holds_alternative<std::nullptr_t>(value.value) ||
                         (value.list() != nullptr && value.list()->empty());
    if (nothing) continue;
    out.append(2 * depth, ' ').append(sanitize(key));
    if (value.map() != nullptr) {
      out.append("\n");
      describe_node(value, depth + 1, out);
      continue;
    }
    out.append(key.size() < 18 ? 18 - key.size() : 1, ' ');
    const std::string* text = value.text();
    out.append(sanitize(text != nullptr ? *text : write_json(value, JsonStyle::Compact)));
    out.append("\n");
  }
}

std::string found_text(const Found& found) {
  const audit::Event& event = found.event;
  std::string out = sanitize(what_text(event) + " " + event.resource + ": " + outcome_text(event));
  out.append("\n");
  for (const std::string* line : {&found.lines.pending, &found.lines.closing}) {
    if (line->empty()) continue;
    out.append("\n");
    describe_node(node_of(*line), 0, out);
  }
  return out;
}

std::string found_json(const Found& found) {
  Node node{NodeMap{}};
  node.set("schema", "cordon.audit-show/1");
  const Node event = event_node(found.event);
  if (const NodeMap* members = event.map())
    for (const auto& [key, value] : *members) node.set(key, value);
  node.set("pending", node_of(found.lines.pending));
  node.set("closing", node_of(found.lines.closing));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

}  // namespace

int verb_audit_show(const Arguments& arguments) {
  const auto found = find_event(arguments);
  if (!found) return audit_failure_status(found.error());
  if (!*found) {
    say_error(usage_error("no action is called " + quote(asked_event(arguments)),
                          "cordon audit list shows them; cordon audit show last is the newest"));
    return kAnswerNo;
  }
  const std::string answer =
      arguments.has(FlagId::Json) ? found_json(**found) : found_text(**found);
  return say_answer(answer) ? kAnswerYes : kAnswerError;
}

namespace {

Result<std::vector<audit::Tally>> tallies_of(const Arguments& arguments) {
  CORDON_TRY(where, audit_place());
  CORDON_TRY(filter, audit_filter(arguments, where));
  const auto progress = audit_progress("reading");
  if (arguments.operands.empty()) {
    CORDON_TRY(index, audit::Index::open(where.place, progress));
    return index.tally(filter);
  }
  const std::vector<std::string> files(arguments.operands.begin(), arguments.operands.end());
  std::uint64_t strange = 0;
  CORDON_TRY(index, audit::Index::of_files(files, strange, progress));
  if (strange != 0) {
    say_warning(std::to_string(strange) + " line(s) are no records and are not counted");
  }
  return index.tally(filter);
}

}  // namespace

int verb_audit_stats(const Arguments& arguments) {
  const auto tallies = tallies_of(arguments);
  if (!tallies) return audit_failure_status(tallies.error());
  ActionSums sums;
  for (const audit::Tally& tally : *tallies) sums.add(tally);
  if (!say_answer(arguments.has(FlagId::Json) ? sums_json(sums) : sums_text(sums))) {
    return kAnswerError;
  }
  return sums.all.count == 0 ? kAnswerNo : kAnswerYes;
}

namespace {

using audit::LineReader;

// How far the files were read.
struct Reached {
  std::string day;
  std::uint64_t offset = 0;
};

std::string shown(const std::string& line, bool json) {
  if (json) return sanitize(line) + "\n";
  const auto record = audit::decode_line(line);
  if (!record) return "? " + sanitize(line.substr(0, 60)) + "\n";
  std::string text(record->timestamp.substr(11, 12));
  text.append("  ").append(std::to_string(record->seq)).append("  ").append(record->action);
  text.append(" ").append(record->resource.empty() ? "-" : record->resource);
  text.append(" ").append(record->phase == audit::Phase::Note ? "note" : record->outcome);
  if (!record->reason.empty()) text.append(" (").append(record->reason).append(")");
  if (const auto code = audit::number_in(*record->metadata, "exit_code")) {
    text += " exit " + std::to_string(*code);
  }
  return sanitize(text) + "\n";
}

// Complete lines from there on; a line that is still being written is left for later.
Result<void> read_on(int directory, Reached& reached,
                     const std::function<void(const std::string&)>& take) {
  CORDON_TRY(days, audit::list_days(directory));
  for (const std::string& day : days) {
    if (day < reached.day) continue;
    CORDON_TRY(file, audit::open_private_file(directory, audit::file_of_day(day), O_RDONLY));
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return fail(audit::audit_error("cannot read", errno));
    if (day != reached.day) reached = {day, 0};
    LineReader reader(file.get(), reached.offset, static_cast<std::uint64_t>(status.st_size));
    audit::Line line;
    for (;;) {
      CORDON_TRY(more, reader.next(line));
      if (!more || !line.complete) break;
      take(std::string(line.text));
      reached.offset = line.end();
    }
  }
  return {};
}

// Where the last `count` records begin, or somewhat before.
Result<Reached> near_the_end(int directory, std::uint64_t count) {
  CORDON_TRY(days, audit::list_days(directory));
  Reached reached;
  std::uint64_t found = 0;
  for (auto day = days.rbegin(); day != days.rend() && found < count; ++day) {
    CORDON_TRY(file, audit::open_private_file(directory, audit::file_of_day(*day), O_RDONLY));
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return fail(audit::audit_error("cannot read", errno));
    LineReader reader(file.get(), 0, static_cast<std::uint64_t>(status.st_size));
    audit::Line line;
    std::deque<std::uint64_t> starts;
    for (;;) {
      CORDON_TRY(more, reader.next(line));
      if (!more || !line.complete) break;
      starts.push_back(line.offset);
      if (starts.size() > count - found) starts.pop_front();
    }
    found += starts.size();
    reached = {*day, starts.empty() ? 0 : starts.front()};
  }
  return reached;
}

// The exit status.
Result<int> tail(const Arguments& arguments) {
  const bool json = arguments.has(FlagId::Json);
  std::uint64_t count = 10;
  if (const auto limit = arguments.value(FlagId::Limit)) {
    const auto number = parse_number(*limit);
    if (!number) {
      return fail(usage_error("--limit " + quote(*limit) + " is not a number",
                              "write --limit 50, with digits alone"));
    }
    count = *number;
  }
  CORDON_TRY(where, audit_place());
  const auto absent =
      arguments.has(FlagId::Follow) ? audit::IfAbsent::Make : audit::IfAbsent::Refuse;
  CORDON_TRY(directory, audit::open_private_directory(where.place.directory, absent));
  // Watched before it is read: what is written in between is not missed.
  const Fd watch(::inotify_init1(IN_CLOEXEC));
  const bool watching =
      watch.valid() &&
      ::inotify_add_watch(watch.get(), where.place.directory.c_str(), IN_MODIFY | IN_CREATE) >= 0;
  CORDON_TRY(reached, near_the_end(directory.get(), count));
  bool any = false;
  bool written = true;
  const auto print = [&](const std::string& line) {
    any = true;
    written = written && say_answer(shown(line, json));
  };
  CORDON_CHECK(read_on(directory.get(), reached, print));
  while (arguments.has(FlagId::Follow) && written) {
    constexpr int kFallbackMs = 1000;
    pollfd polled{watch.get(), POLLIN, 0};
    ::poll(&polled, watching ? 1 : 0, watching ? -1 : kFallbackMs);
    char events[4096];
    if (watching && ::read(watch.get(), events, sizeof events) < 0 && errno != EINTR) break;
    CORDON_CHECK(read_on(directory.get(), reached, print));
  }
  if (!written) return kAnswerError;
  return any ? kAnswerYes : kAnswerNo;
}

}  // namespace

int verb_audit_tail(const Arguments& arguments) {
  const auto status = tail(arguments);
  return status ? *status : audit_failure_status(status.error());
}

}  // namespace cordon
