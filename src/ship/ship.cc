#include "ship/ship.h"

#include <poll.h>
#include <sys/inotify.h>
#include <sys/random.h>
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

constexpr std::uint64_t kFirstPauseMs = 1000;
constexpr std::uint64_t kLongestPauseMs = 60'000;
// Between two batches of a log that is written to: what comes meanwhile goes together.
constexpr int kGatherMs = 1000;
// A statement about the end of what was copied is signed after so many records, or so long.
constexpr std::uint64_t kSignEach = 1024;
constexpr std::chrono::seconds kSignWithin{60};

class Shipper {
 public:
  Shipper(const Route& route, Spool& spool, Interruption& interruption, Delivery& delivery)
      : route_(route), spool_(spool), interruption_(interruption), delivery_(delivery) {}

  Answer<void> work();

 private:
  Answer<void> open();
  Answer<void> send(const Batch& batch);
  Answer<void> sign_end();
  void pause(const Trouble& why);
  void wait_for_more(int watch);

  const Route& route_;
  Spool& spool_;
  Interruption& interruption_;
  Delivery& delivery_;
  bool is_open_ = false;
  std::uint64_t pause_ms_ = kFirstPauseMs;
  Steady::time_point signed_at_ = Steady::now();
};

Answer<void> Shipper::open() {
  CORDON_TRY(node, route_.destination->open());
  delivery_.node = std::move(node);
  is_open_ = true;
  return {};
}

Answer<void> Shipper::send(const Batch& batch) {
  CORDON_TRY(taken, route_.destination->take(batch));
  CORDON_CHECK(spool_.committed(batch));
  delivery_.sent += batch.records.size();
  if (delivery_.stored) *delivery_.stored += taken.stored;
  delivery_.rejected += taken.rejected;
  delivery_.checkpoints += taken.checkpoints;
  delivery_.last_seq = batch.behind.seq;
  return {};
}

// Without it, records at the end could be removed from the database and nobody would miss them.
Answer<void> Shipper::sign_end() {
  const auto last = spool_.last();
  if (!last || last->seq == spool_.position().signed_seq) return {};
  const std::int64_t now_us = audit::system_clock().wall_us();
  CORDON_TRY(key, signing_key(route_.log));
  Batch batch;
  batch.checkpoints = {
      audit::make_checkpoint(*last, spool_.position().day, "ship", now_us, key).line};
  CORDON_TRY(taken, route_.destination->take(batch));
  delivery_.checkpoints += taken.checkpoints;
  CORDON_CHECK(spool_.end_signed());
  signed_at_ = Steady::now();
  return {};
}

// A fleet that lost its receiver at one moment does not come back to it at one moment.
std::uint64_t spread(std::uint64_t pause_ms) {
  std::uint32_t random = 0;
  if (::getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) random = 0;
  return pause_ms + random % (pause_ms / 4 + 1);
}

void Shipper::pause(const Trouble& why) {
  const std::uint64_t wait_ms = std::max(pause_ms_, why.pause_ms);
  route_.tell(message(why.error) + "; nothing is lost, the next attempt is in " +
              format_duration(wait_ms));
  const auto until = Steady::now() + std::chrono::milliseconds(spread(wait_ms));
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
    if (!is_open_) CORDON_CHECK(open());
    CORDON_TRY(batch, spool_.next(route_.destination->bounds()));
    if (!batch.empty()) CORDON_CHECK(send(batch));
    const bool due = spool_.position().seq - spool_.position().signed_seq >= kSignEach ||
                     Steady::now() - signed_at_ >= kSignWithin;
    const bool at_end = batch.empty() && route_.until != Until::Asked;
    if ((due || at_end) && route_.destination->keeps_checkpoints()) CORDON_CHECK(sign_end());
    return batch.empty();
  };
  while (!interruption_.asked()) {
    auto done = attempt();
    if (done) {
      // Not before it has taken something: one that answers and takes nothing is still away.
      if (pause_ms_ != kFirstPauseMs)
        route_.tell(std::string(route_.destination->called()) + " is back");
      pause_ms_ = kFirstPauseMs;
      delivery_.complete = *done;
      if (*done && route_.until != Until::Asked) return {};
      if (*done) wait_for_more(watching ? watch.get() : -1);
      continue;
    }
    route_.destination->close();
    is_open_ = false;
    delivery_.complete = false;
    const bool wait =
        done.error().kind == Trouble::Kind::Away && route_.until != Until::FirstFailure;
    if (!wait) return tl::make_unexpected(std::move(done).error());
    pause(done.error());
  }
  return {};
}

}  // namespace

Result<void> deliver(const Route& route, Spool& spool, Interruption& interruption,
                     Delivery& delivery) {
  delivery.last_seq = spool.position().seq;
  if (route.destination->stores_once()) delivery.stored = 0;
  auto done = Shipper(route, spool, interruption, delivery).work();
  if (done || done.error().kind == Trouble::Kind::Ended) return {};
  return fail(std::move(done).error().error);
}

}  // namespace cordon::ship
