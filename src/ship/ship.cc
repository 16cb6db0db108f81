#include "ship/ship.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "audit/checkpoint.h"
#include "audit/record.h"
#include "audit/signing.h"
#include "base/text.h"

namespace cordon::ship {
namespace {

using Steady = std::chrono::steady_clock;

// How long the server may be silent within one step.
constexpr int kSilenceMs = 60'000;
constexpr std::uint64_t kFirstPauseMs = 1000;
constexpr std::uint64_t kLongestPauseMs = 60'000;
// Between two batches of a log that is written to: what comes meanwhile goes together.
constexpr int kGatherMs = 1000;
// A statement about the end of what was copied is signed after so many records, or so long.
constexpr std::uint64_t kSignEach = 1024;
constexpr std::chrono::seconds kSignWithin{60};

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

class Shipper {
 public:
  Shipper(const Route& route, Spool& spool, Interruption& interruption, Delivery& delivery)
      : route_(route), spool_(spool), interruption_(interruption), delivery_(delivery) {}

  Answer<void> work();

 private:
  Answer<void> connect();
  Answer<void> send(const Batch& batch);
  Answer<void> send_checkpoints(const std::vector<std::string>& lines);
  Answer<void> sign_end();
  void pause(const Error& why);
  void wait_for_more(int watch);

  const Route& route_;
  Spool& spool_;
  Interruption& interruption_;
  Delivery& delivery_;
  audit::Key key_{};
  std::optional<Database> database_;
  std::uint64_t pause_ms_ = kFirstPauseMs;
  Steady::time_point signed_at_ = Steady::now();
};

Answer<void> Shipper::connect() {
  CORDON_TRY(database, Database::open(*route_.pq, route_.target, interruption_));
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
  CORDON_TRY(key, signing_key(route_.log));
  // A copied disk, or somebody who has the login of another host: its log is not this node's.
  if (rows.text(0, 1) != audit::public_key_of(key)) {
    return tl::make_unexpected(Trouble(setup_error(
        "the node " + sanitize(rows.text(0, 0).value_or("")) +
            " is enrolled with another signing key than this log's",
        0,
        "each log is a node of its own: cordon audit ship --enroll prints what enrols this one")));
  }
  key_ = key;
  if (pause_ms_ != kFirstPauseMs) route_.tell("the database is back");
  pause_ms_ = kFirstPauseMs;
  delivery_.node = rows.text(0, 0).value_or("");
  database_ = std::move(database);
  return {};
}

Answer<void> Shipper::send_checkpoints(const std::vector<std::string>& lines) {
  const std::vector<Parameter> parameters{Parameter::text(delivery_.node), Parameter::bytes(lines)};
  CORDON_CHECK(database_->ask(kInsertCheckpoints, parameters, kSilenceMs));
  return {};
}

Answer<void> Shipper::send(const Batch& batch) {
  CORDON_CHECK(database_->ask("BEGIN", kSilenceMs));
  std::uint64_t stored = 0;
  if (!batch.records.empty()) {
    CORDON_TRY(rows, database_->ask(kInsertRecords, parameters_of(delivery_.node, batch.records),
                                    kSilenceMs));
    stored = rows.changed();
  }
  if (!batch.checkpoints.empty()) CORDON_CHECK(send_checkpoints(batch.checkpoints));
  CORDON_CHECK(database_->ask("COMMIT", kSilenceMs));
  CORDON_CHECK(spool_.committed(batch));
  delivery_.sent += batch.records.size();
  delivery_.stored += stored;
  delivery_.checkpoints += batch.checkpoints.size();
  delivery_.last_seq = batch.behind.seq;
  return {};
}

// Without it, records at the end could be removed from the database and nobody would miss them.
Answer<void> Shipper::sign_end() {
  const auto last = spool_.last();
  if (!last || last->seq == spool_.position().signed_seq) return {};
  const std::int64_t now_us = audit::system_clock().wall_us();
  const audit::Checkpoint checkpoint =
      audit::make_checkpoint(*last, spool_.position().day, "ship", now_us, key_);
  CORDON_CHECK(send_checkpoints({checkpoint.line}));
  ++delivery_.checkpoints;
  CORDON_CHECK(spool_.end_signed());
  signed_at_ = Steady::now();
  return {};
}

void Shipper::pause(const Error& why) {
  route_.tell(message(why) + "; nothing is lost, the next attempt is in " +
              format_duration(pause_ms_));
  const auto until = Steady::now() + std::chrono::milliseconds(pause_ms_);
  while (Steady::now() < until) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Steady::now());
    if (interruption_.wait(-1, 0, static_cast<int>(left.count()) + 1)) break;
  }
  pause_ms_ = std::min(pause_ms_ * 2, kLongestPauseMs);
}

void Shipper::wait_for_more(int watch) {
  if (interruption_.wait(-1, 0, kGatherMs)) return;
  constexpr int kFallbackMs = 60'000;
  interruption_.wait(watch, POLLIN, watch < 0 ? kGatherMs : kFallbackMs);
  std::array<char, 4096> events{};
  while (watch >= 0 && ::read(watch, events.data(), events.size()) > 0) {
  }
}

Answer<void> Shipper::work() {
  const Fd watch(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  const bool watching =
      ::inotify_add_watch(watch.get(), spool_.directory().c_str(), IN_MODIFY | IN_CREATE) >= 0;
  const auto attempt = [&]() -> Answer<bool> {
    if (!database_) CORDON_CHECK(connect());
    CORDON_TRY(batch, spool_.next());
    if (!batch.empty()) CORDON_CHECK(send(batch));
    const bool due = spool_.position().seq - spool_.position().signed_seq >= kSignEach ||
                     Steady::now() - signed_at_ >= kSignWithin;
    const bool at_end = batch.empty() && route_.until != Until::Asked;
    if (due || at_end) CORDON_CHECK(sign_end());
    return batch.empty();
  };
  while (!interruption_.asked()) {
    auto done = attempt();
    if (done) {
      delivery_.complete = *done;
      if (*done && route_.until != Until::Asked) return {};
      if (*done) wait_for_more(watching ? watch.get() : -1);
      continue;
    }
    database_.reset();
    delivery_.complete = false;
    const bool wait =
        done.error().kind == Trouble::Kind::Away && route_.until != Until::FirstFailure;
    if (!wait) return tl::make_unexpected(std::move(done).error());
    pause(done.error().error);
  }
  return {};
}

}  // namespace

Result<void> deliver(const Route& route, Spool& spool, Interruption& interruption,
                     Delivery& delivery) {
  delivery.last_seq = spool.position().seq;
  auto done = Shipper(route, spool, interruption, delivery).work();
  if (done || done.error().kind == Trouble::Kind::Ended) return {};
  return fail(std::move(done).error().error);
}

}  // namespace cordon::ship
