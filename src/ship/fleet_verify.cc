// What the log of a node is worth as the database has it. The lines are walked along as they are in
// a log of one's own; then what the node signed is looked for in them, and what the database adds
// of itself: forks, and columns that say something else than their line.
#include <algorithm>

#include "audit/chain_walk.h"
#include "audit/checkpoint.h"
#include "base/text.h"
#include "ship/fleet.h"
#include "ship/shipped.h"

namespace cordon::ship {
namespace {

// It reads everything that there is.
constexpr int kAsLongAsItTakes = -1;
constexpr std::size_t kMostFindings = 100;

// There is one file, the database, and every day comes before this one.
constexpr const char* kAllDays = "9999-12-31";

constexpr const char* kNodes = "SELECT node, public_key FROM cordon.nodes ORDER BY node";
constexpr const char* kCheckpoints =
    "SELECT line FROM cordon.checkpoints WHERE node = $1 ORDER BY received, digest";
constexpr const char* kForks =
    "SELECT f.seq::text, count(*)::text FROM cordon.forks f WHERE f.node = $1 GROUP BY f.seq ORDER "
    "BY f.seq";
constexpr const char* kStrangers =
    "SELECT r.node FROM cordon.records r WHERE NOT EXISTS"
    " (SELECT FROM cordon.nodes n WHERE n.node = r.node) GROUP BY r.node ORDER BY r.node";
// By the number: the name alone would mean the text of the answer.
constexpr const char* kRecords =
    "SELECT seq::text, line, (extract(epoch FROM at) * 1000000)::bigint::text, phase,"
    " pending_seq::text, action, tool, outcome, reason, denials::text, duration_ms::text,"
    " to_char(received AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
    " FROM cordon.records r WHERE r.node = $1 AND r.seq > $2 ORDER BY r.seq LIMIT 4000";

Columns stored_columns(const Rows& rows, int row) {
  return {rows.number(row, 2), rows.text(row, 3),   rows.number(row, 4),
          rows.text(row, 5),   rows.text(row, 6),   rows.text(row, 7),
          rows.text(row, 8),   rows.number(row, 9), rows.number(row, 10)};
}

class NodeCheck {
 public:
  NodeCheck(Database& database, std::string node, std::string key)
      : database_(database), key_(std::move(key)) {
    verdict_.node = std::move(node);
  }
  Answer<NodeVerdict> check(std::uint64_t& read, const std::function<void(std::uint64_t)>& done);

 private:
  void add(std::string kind, std::uint64_t seq, std::string what) {
    if (verdict_.findings.size() < kMostFindings)
      verdict_.findings.push_back({std::move(kind), seq, std::move(what)});
  }
  Answer<void> read_checkpoints();
  Answer<void> read_records(std::uint64_t& read, const std::function<void(std::uint64_t)>& done);
  Answer<void> read_forks();
  void begin(std::uint64_t seq);
  void take(std::uint64_t seq, const std::string& line, const Columns& stored);
  void compare_checkpoints();

  Database& database_;
  std::string key_;
  NodeVerdict verdict_;
  std::vector<audit::Checkpoint> checkpoints_;
  std::optional<audit::ChainWalk> walk_;
};

Answer<void> NodeCheck::read_checkpoints() {
  const std::vector<Parameter> of_node{Parameter::text(verdict_.node)};
  CORDON_TRY(rows, database_.ask(kCheckpoints, of_node, kAsLongAsItTakes));
  for (int row = 0; row < rows.count(); ++row) {
    auto checkpoint = audit::read_checkpoint(rows.text(row, 0).value_or(""));
    if (!checkpoint) {
      add("checkpoint", 0, checkpoint.error().what);
    } else if (checkpoint->public_key != key_) {
      add("checkpoint", checkpoint->seq, "it was signed with another key than the enrolled one");
    } else {
      checkpoints_.push_back(std::move(*checkpoint));
    }
  }
  verdict_.checkpoints = checkpoints_.size();
  return {};
}

// A log that was pruned before its node was enrolled begins behind a record that was signed when it
// was.
void NodeCheck::begin(std::uint64_t seq) {
  std::optional<audit::Link> start;
  for (const audit::Checkpoint& checkpoint : checkpoints_) {
    const auto hash = audit::digest_from_hex(checkpoint.hash);
    if (checkpoint.reason == "prune" && checkpoint.seq + 1 == seq && hash)
      start = audit::Link{checkpoint.seq, *hash};
  }
  walk_.emplace(start, std::string(), std::nullopt);
  walk_->enter_day(kAllDays);
}

void NodeCheck::take(std::uint64_t seq, const std::string& line, const Columns& stored) {
  if (!walk_) begin(seq);
  audit::DecodedLine decoded;
  decoded.line.number = verdict_.records + 1;
  auto record = audit::decode_line(line);
  decoded.has_record = record.has_value();
  if (record) {
    decoded.record = *std::move(record);
  } else {
    decoded.fault = std::move(record).error();
  }
  if (decoded.has_record && decoded.record.seq != seq) {
    add("edit", seq,
        "the line that is stored as this record has the number " +
            std::to_string(decoded.record.seq));
  }
  if (stored != columns_of(decoded.has_record ? &decoded.record : nullptr))
    add("columns", seq, "its columns are not those of its line");
  walk_->take(decoded);
  if (verdict_.records++ == 0) verdict_.first_seq = seq;
  verdict_.last_seq = seq;
}

Answer<void> NodeCheck::read_records(std::uint64_t& read,
                                     const std::function<void(std::uint64_t)>& done) {
  std::int64_t behind = 0;
  for (;;) {
    const std::vector<Parameter> from{Parameter::text(verdict_.node), Parameter::number(behind)};
    CORDON_TRY(rows, database_.ask(kRecords, from, kAsLongAsItTakes));
    if (rows.count() == 0) return {};
    for (int row = 0; row < rows.count(); ++row) {
      behind = rows.number(row, 0).value_or(0);
      take(static_cast<std::uint64_t>(behind), rows.text(row, 1).value_or(""),
           stored_columns(rows, row));
      verdict_.last_received = rows.text(row, 11).value_or("");
    }
    read += static_cast<std::uint64_t>(rows.count());
    if (done) done(read);
  }
}

void NodeCheck::compare_checkpoints() {
  for (const audit::Checkpoint& checkpoint : checkpoints_) {
    verdict_.signed_seq = std::max(verdict_.signed_seq, checkpoint.seq);
    // What was never stored here cannot be compared: the log was pruned before.
    if (walk_ && checkpoint.seq < verdict_.first_seq) continue;
    const auto hash = audit::digest_from_hex(checkpoint.hash);
    if (checkpoint.seq > verdict_.last_seq) {
      add("truncation", verdict_.last_seq + 1,
          "the node signed record " + std::to_string(checkpoint.seq) +
              ", and the last that is stored is " + std::to_string(verdict_.last_seq));
    } else if (!hash || !walk_ || !walk_->had(checkpoint.seq, *hash)) {
      add("checkpoint", checkpoint.seq,
          "the record that the node signed is not the one that is stored");
    }
  }
}

Answer<void> NodeCheck::read_forks() {
  const std::vector<Parameter> of_node{Parameter::text(verdict_.node)};
  CORDON_TRY(rows, database_.ask(kForks, of_node, kAsLongAsItTakes));
  for (int row = 0; row < rows.count(); ++row) {
    add("fork", static_cast<std::uint64_t>(rows.number(row, 0).value_or(0)),
        "the node sent " + rows.text(row, 1).value_or("") + " other record(s) with this number");
  }
  return {};
}

Answer<NodeVerdict> NodeCheck::check(std::uint64_t& read,
                                     const std::function<void(std::uint64_t)>& done) {
  CORDON_CHECK(read_checkpoints());
  CORDON_CHECK(read_records(read, done));
  compare_checkpoints();
  CORDON_CHECK(read_forks());
  if (!walk_) return std::move(verdict_);
  walk_->leave_day();
  audit::Verification walked = std::move(*walk_).finish();
  for (const audit::Finding& finding : walked.findings)
    add(std::string(audit::name_of(finding.fault)), finding.seq, finding.what);
  for (const std::string& notice : walked.notices)
    verdict_.notices.push_back(notice.substr(notice.find(": ") + 2));
  verdict_.last_hash = to_hex(walked.last.hash);
  std::ranges::stable_sort(verdict_.findings, {}, &FleetFinding::seq);
  return std::move(verdict_);
}

}  // namespace

Answer<std::vector<NodeVerdict>> verify(Database& database, const std::string& node,
                                        const std::function<void(std::uint64_t)>& done) {
  // One moment of the database, however long it takes.
  CORDON_CHECK(database.ask("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", kAsLongAsItTakes));
  CORDON_TRY(nodes, database.ask(kNodes, kAsLongAsItTakes));
  std::vector<NodeVerdict> verdicts;
  std::uint64_t read = 0;
  for (int row = 0; row < nodes.count(); ++row) {
    const std::string name = nodes.text(row, 0).value_or("");
    if (!node.empty() && name != node) continue;
    CORDON_TRY(verdict,
               NodeCheck(database, name, nodes.text(row, 1).value_or("")).check(read, done));
    verdicts.push_back(std::move(verdict));
  }
  if (!node.empty() && verdicts.empty())
    return tl::make_unexpected(Trouble(
        usage_error("no node is called " + quote(node), "cordon audit stats --from shows them")));
  if (node.empty()) {
    CORDON_TRY(strangers, database.ask(kStrangers, kAsLongAsItTakes));
    for (int row = 0; row < strangers.count(); ++row) {
      NodeVerdict stranger;
      stranger.node = strangers.text(row, 0).value_or("");
      stranger.findings.push_back({"unknown-node", 0, "it has records and is not enrolled"});
      verdicts.push_back(std::move(stranger));
    }
  }
  CORDON_CHECK(database.ask("COMMIT", kAsLongAsItTakes));
  return verdicts;
}

}  // namespace cordon::ship
