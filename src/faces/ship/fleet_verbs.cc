// `cordon audit list|stats|verify|export --from URL`: the logs of a fleet in a database, in the
// words of those verbs for the log of this host.
#include <unistd.h>

#include "audit/record.h"
#include "base/text.h"
#include "faces/cli/action_sums.h"
#include "faces/cli/audit_forms.h"
#include "faces/cli/console.h"
#include "faces/cli/verbs.h"
#include "ship/fleet.h"

namespace cordon {
namespace {

// Rows of a list without --limit, as for the log of this host.
constexpr std::uint64_t kUsualNodeRows = 20;

int failure_status(const ship::Trouble& trouble) {
  say_error(trouble.error);
  return kAnswerError;
}

ship::Answer<ship::FleetFilter> fleet_filter(const Arguments& arguments) {
  // Labels and agents are hashed with the key of each node: one of here means nothing there.
  for (const auto& [id, name] : {std::pair{FlagId::PathLabel, "--path"},
                                 {FlagId::Agent, "--agent"},
                                 {FlagId::Session, "--session"},
                                 {FlagId::SessionId, "--session-id"},
                                 {FlagId::Human, "--human"}}) {
    if (arguments.has(id)) {
      return tl::make_unexpected(ship::Trouble(usage_error(
          std::string(name) + " asks the log of one host: it is not asked of a database",
          "leave it out, or leave --from out and ask on the node itself")));
    }
  }
  CORDON_TRY(where, audit_place());
  CORDON_TRY(own, audit_filter(arguments, where));
  return ship::FleetFilter{
      own.since_us, own.until_us, own.outcome,
      own.denied,   own.tool,     std::string(arguments.value(FlagId::NodeName).value_or("")),
      own.limit};
}

ship::Answer<ship::Database> database_of(const Arguments& arguments,
                                         ship::Interruption& interruption) {
  const std::string address(arguments.value(FlagId::From).value_or(""));
  CORDON_CHECK(ship::check_address(address));
  CORDON_TRY(pq, ship::load_libpq());
  CORDON_TRY(target, ship::read_target(*pq, address));
  return ship::Database::open(*pq, target, interruption);
}

std::string fleet_table(const std::vector<ship::FleetEvent>& events) {
  TextTable table({{"NODE"},
                   {"SEQ", Align::Right},
                   {"BEGUN (UTC)"},
                   {"ACTION"},
                   {"END"},
                   {"DENIED", Align::Right},
                   {"TOOK", Align::Right}});
  for (const auto& [node, event] : events) {
    const auto took = event.duration_ms.value_or(0);
    table.add({node, std::to_string(event.seq), audit::format_moment(event.begun_us).substr(0, 19),
               what_text(event) + (event.resource.empty() ? "" : " " + event.resource),
               outcome_text(event), event.denials == 0 ? "" : std::to_string(event.denials),
               took > 0 ? format_duration(static_cast<std::uint64_t>(took)) : ""});
  }
  return table.text_for(STDOUT_FILENO);
}

std::string fleet_events_json(const std::vector<ship::FleetEvent>& events) {
  NodeList all;
  for (const auto& [name, event] : events) {
    Node node = event_node(event);
    node.set("node", name);
    all.push_back(std::move(node));
  }
  Node node;
  node.set("schema", "cordon.audit-list/1").set("events", Node(std::move(all)));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

ship::Answer<int> list_fleet(const Arguments& arguments) {
  CORDON_TRY(filter, fleet_filter(arguments));
  const bool json = arguments.has(FlagId::Json);
  const bool usual = !json && !filter.limit;
  // One more than is shown tells whether there are more.
  if (usual) filter.limit = kUsualNodeRows + 1;
  ship::Interruption interruption;
  CORDON_TRY(database, database_of(arguments, interruption));
  CORDON_TRY(events, ship::list(database, filter));
  const bool more = usual && events.size() > kUsualNodeRows;
  if (more) events.pop_back();
  const std::string answer = json             ? fleet_events_json(events)
                             : events.empty() ? "nothing that is recorded fits\n"
                                              : fleet_table(events);
  if (!say_answer(answer)) return kAnswerError;
  if (more) say("the newest " + std::to_string(kUsualNodeRows) + "; --limit N shows more\n");
  return events.empty() ? kAnswerNo : kAnswerYes;
}

ship::Answer<int> sum_up_fleet(const Arguments& arguments) {
  if (!arguments.operands.empty()) {
    return tl::make_unexpected(ship::Trouble(usage_error(
        "FILEs are summed up in place of a database", "leave --from out, or the files")));
  }
  CORDON_TRY(filter, fleet_filter(arguments));
  ship::Interruption interruption;
  CORDON_TRY(database, database_of(arguments, interruption));
  CORDON_TRY(tallies, ship::tally(database, filter));
  ActionSums sums;
  sums.nodes.emplace();
  for (const ship::FleetTally& one : tallies) sums.add(one.node, one.tally);
  if (!say_answer(arguments.has(FlagId::Json) ? sums_json(sums) : sums_text(sums)))
    return kAnswerError;
  return sums.all.count == 0 ? kAnswerNo : kAnswerYes;
}

ship::Answer<int> export_fleet(const Arguments& arguments) {
  const std::string_view form = arguments.value(FlagId::Format).value_or("jsonl");
  if (form != "jsonl") {
    return tl::make_unexpected(ship::Trouble(usage_error(
        "--format " + quote(form) + " is for the log of one host: a fleet is exported as jsonl",
        "leave --format out; cordon fleet report --from URL FILE.html makes a page")));
  }
  CORDON_TRY(filter, fleet_filter(arguments));
  ship::Interruption interruption;
  CORDON_TRY(database, database_of(arguments, interruption));
  // A terminal must not be moved by a name that somebody else chose.
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  bool any = false;
  bool written = true;
  std::string text;
  const auto write_out = [&] {
    written = say_answer(text);
    text.clear();
    return written;
  };
  CORDON_CHECK(ship::each(database, filter, [&](const audit::FleetLine& line) {
    constexpr std::size_t kAtOnce = std::size_t{64} << 10U;
    const std::string one = audit::write_fleet_line(line);
    text += terminal ? sanitize_lines(one) : one;
    any = true;
    return text.size() < kAtOnce || write_out();
  }));
  if (!written || !write_out()) return kAnswerError;
  return any ? kAnswerYes : kAnswerNo;
}

Node verdict_node(const ship::NodeVerdict& verdict) {
  NodeList findings;
  for (const ship::FleetFinding& finding : verdict.findings) {
    Node node;
    node.set("kind", finding.kind).set("seq", Node(finding.seq)).set("what", finding.what);
    findings.push_back(std::move(node));
  }
  NodeList notices;
  for (const std::string& notice : verdict.notices) notices.emplace_back(notice);
  const auto text = [](const std::string& value) { return value.empty() ? Node() : Node(value); };
  Node node;
  node.set("node", verdict.node)
      .set("holds", Node(verdict.holds()))
      .set("records", Node(verdict.records))
      .set("first_seq", Node(verdict.first_seq))
      .set("last_seq", Node(verdict.last_seq))
      .set("last_hash", text(verdict.last_hash))
      .set("last_received", text(verdict.last_received))
      .set("signed_seq", Node(verdict.signed_seq))
      .set("checkpoints", Node(verdict.checkpoints))
      .set("findings", Node(std::move(findings)))
      .set("notices", Node(std::move(notices)));
  return node;
}

bool all_hold(const std::vector<ship::NodeVerdict>& verdicts) {
  for (const ship::NodeVerdict& verdict : verdicts)
    if (!verdict.holds()) return false;
  return true;
}

std::string verdicts_json(const std::vector<ship::NodeVerdict>& verdicts) {
  NodeList nodes;
  for (const ship::NodeVerdict& verdict : verdicts) nodes.push_back(verdict_node(verdict));
  Node node;
  node.set("schema", "cordon.audit-fleet/1")
      .set("holds", Node(all_hold(verdicts)))
      .set("nodes", Node(std::move(nodes)));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

std::string verdicts_text(const std::vector<ship::NodeVerdict>& verdicts) {
  std::string out;
  for (const ship::NodeVerdict& verdict : verdicts) {
    const std::string name = sanitize(verdict.node);
    for (const ship::FleetFinding& finding : verdict.findings)
      out += name + ": seq " + std::to_string(finding.seq) + ": " + finding.kind + ": " +
             sanitize(finding.what) + "\n";
    for (const std::string& notice : verdict.notices)
      out += name + ": note: " + sanitize(notice) + "\n";
    out += name + ": ";
    out += verdict.holds() ? tinted(STDOUT_FILENO, Tint::Good, "the log holds")
                           : tinted(STDOUT_FILENO, Tint::Bad, "the log does not hold");
    out += ": " + std::to_string(verdict.records) + " record(s), up to number " +
           std::to_string(verdict.last_seq) + ", signed up to number " +
           std::to_string(verdict.signed_seq) +
           (verdict.last_received.empty() ? "" : "; the last came at " + verdict.last_received) +
           "\n";
  }
  return out.empty() ? "no node is enrolled\n" : out;
}

ship::Answer<int> verify_fleet(const Arguments& arguments) {
  if (arguments.has(FlagId::Checkpoint)) {
    return tl::make_unexpected(
        ship::Trouble(usage_error("--checkpoint signs the log of this host",
                                  "leave --from out; a node signs what it copies")));
  }
  ship::Interruption interruption;
  CORDON_TRY(database, database_of(arguments, interruption));
  std::function<void(std::uint64_t)> done;
  if (counts_in_place())
    done = [](std::uint64_t count) {
      say("\rverified " + std::to_string(count) + " records\x1b[K");
    };
  const std::string node(arguments.value(FlagId::NodeName).value_or(""));
  auto verdicts = ship::verify(database, node, done);
  if (done) say("\r\x1b[K");
  if (!verdicts) return tl::make_unexpected(std::move(verdicts).error());
  if (!say_answer(arguments.has(FlagId::Json) ? verdicts_json(*verdicts)
                                              : verdicts_text(*verdicts)))
    return kAnswerError;
  return !verdicts->empty() && all_hold(*verdicts) ? kAnswerYes : kAnswerNo;
}

int status_of(const ship::Answer<int>& status) {
  return status ? *status : failure_status(status.error());
}

}  // namespace

int fleet_list(const Arguments& arguments) { return status_of(list_fleet(arguments)); }
int fleet_stats(const Arguments& arguments) { return status_of(sum_up_fleet(arguments)); }
int fleet_verify(const Arguments& arguments) { return status_of(verify_fleet(arguments)); }
int fleet_export(const Arguments& arguments) { return status_of(export_fleet(arguments)); }

}  // namespace cordon
