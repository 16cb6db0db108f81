#include "ship/database_destination.h"

#include "audit/signing.h"
#include "base/text.h"

namespace cordon::ship {
namespace {

// How long the server may be silent within one step.
constexpr int kSilenceMs = 60'000;
constexpr const char* kEnrolled = "SELECT node, public_key, format::text FROM cordon.enrolled()";
constexpr const char* kInsertRecords =
    "INSERT INTO cordon.records (node, seq, line, at, phase, pending_seq, action, tool, outcome,"
    " reason, denials, duration_ms)"
    " SELECT $1, * FROM unnest($2::bigint[], $3::bytea[], $4::timestamptz[], $5::text[],"
    " $6::bigint[], $7::text[], $8::text[], $9::text[], $10::text[], $11::bigint[], $12::bigint[])"
    " ON CONFLICT DO NOTHING";
constexpr const char* kInsertCheckpoints =
    "INSERT INTO cordon.checkpoints (node, line) SELECT $1, * FROM unnest($2::bytea[])"
    " ON CONFLICT DO NOTHING";

template <typename T>
std::vector<std::optional<T>> column_of(const std::vector<Shipped>& records,
                                        std::optional<T> Columns::*column) {
  std::vector<std::optional<T>> values;
  values.reserve(records.size());
  for (const Shipped& record : records) values.push_back(record.columns.*column);
  return values;
}

std::vector<Parameter> parameters_of(const std::string& node, const std::vector<Shipped>& records) {
  std::vector<std::optional<std::int64_t>> numbers;
  std::vector<std::string> lines;
  for (const Shipped& record : records) {
    numbers.emplace_back(static_cast<std::int64_t>(record.seq));
    lines.push_back(record.line);
  }
  const auto texts = [&](auto column) {
    return Parameter::texts(column_of<std::string>(records, column));
  };
  const auto integers = [&](auto column) {
    return Parameter::numbers(column_of<std::int64_t>(records, column));
  };
  return {Parameter::text(node),
          Parameter::numbers(numbers),
          Parameter::bytes(lines),
          Parameter::moments(column_of<std::int64_t>(records, &Columns::at_us)),
          texts(&Columns::phase),
          integers(&Columns::pending_seq),
          texts(&Columns::action),
          texts(&Columns::tool),
          texts(&Columns::outcome),
          texts(&Columns::reason),
          integers(&Columns::denials),
          integers(&Columns::duration_ms)};
}

}  // namespace

BatchBounds DatabaseDestination::bounds() const { return {2000, std::size_t{4} * 1024 * 1024}; }

Answer<std::string> DatabaseDestination::open() {
  CORDON_TRY(database, Database::open(pq_, target_, interruption_));
  CORDON_TRY(rows, database.ask(kEnrolled, kSilenceMs));
  if (rows.count() != 1) {
    return tl::make_unexpected(Trouble(setup_error(
        "the login of this connection is not enrolled as a node", 0,
        "cordon audit ship --enroll prints what an administrator of the database runs")));
  }
  if (rows.text(0, 2) != "1") {
    return tl::make_unexpected(
        Trouble(setup_error("the tables of the database are of another release", 0,
                            "cordon audit ship --schema prints those of this one")));
  }
  CORDON_TRY(key, signing_key(log_));
  // A copied disk, or somebody who has the login of another host: its log is not this node's.
  if (rows.text(0, 1) != audit::public_key_of(key)) {
    return tl::make_unexpected(Trouble(setup_error(
        "the node " + sanitize(rows.text(0, 0).value_or("")) +
            " is enrolled with another signing key than this log's",
        0,
        "each log is a node of its own: cordon audit ship --enroll prints what enrols this one")));
  }
  node_ = rows.text(0, 0).value_or("");
  database_ = std::move(database);
  return node_;
}

Answer<Taken> DatabaseDestination::take(const Batch& batch) {
  CORDON_CHECK(database_->ask("BEGIN", kSilenceMs));
  Taken taken;
  if (!batch.records.empty()) {
    CORDON_TRY(rows,
               database_->ask(kInsertRecords, parameters_of(node_, batch.records), kSilenceMs));
    taken.stored = rows.changed();
  }
  if (!batch.checkpoints.empty()) {
    const std::vector<Parameter> parameters{Parameter::text(node_),
                                            Parameter::bytes(batch.checkpoints)};
    CORDON_CHECK(database_->ask(kInsertCheckpoints, parameters, kSilenceMs));
    taken.checkpoints = batch.checkpoints.size();
  }
  CORDON_CHECK(database_->ask("COMMIT", kSilenceMs));
  return taken;
}

}  // namespace cordon::ship
