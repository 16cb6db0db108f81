#include "audit/log.h"

#include "base/path.h"

namespace cordon::audit {
namespace {

// A record that readers would refuse must not be written.
Result<void> check(const Pending& pending) {
  if (pending.action.empty()) return fail(audit_error("the action has no name", 0));
  return {};
}

}  // namespace

Place place_of(const Caller& caller) { return {join(caller.state_directory, "audit")}; }

Result<Log> Log::open(const Place& place) {
  CORDON_TRY(writer, identify_writer());
  return open(place, std::move(writer), system_clock());
}

Result<Log> Log::open(const Place& place, Writer writer, Clock clock) {
  CORDON_TRY(chain, Chain::open(place.directory, std::move(writer), clock));
  return Log(std::move(chain));
}

Result<Log::Stamp> Log::stamp(const Clock& clock) {
  const std::int64_t now = clock.wall_us();
  CORDON_TRY(id, new_event_id(now));
  return Stamp{std::move(id), now, clock.boot_ms()};
}

Result<Receipt> Log::begin(const Pending& pending) {
  CORDON_TRY(now, stamp(chain_.clock()));
  return begin_late(now, pending);
}

Result<Receipt> Log::begin_late(const Stamp& stamp, const Pending& pending) {
  CORDON_CHECK(check(pending));
  Receipt receipt{stamp.event_id, 0, 0, pending.action.text(), pending.resource.text()};
  const Body body{Phase::Pending, stamp.event_id, stamp.wall_us, stamp.boot_ms,
                  pending_members(pending, chain_.writer())};
  CORDON_TRY(locked, chain_.lock(body.wall_us));
  CORDON_TRY(landed, locked.append_pending(body, receipt.slot));
  receipt.seq = landed.seq;
  return receipt;
}

Result<void> Log::close(const Receipt& receipt, const Closing& closing) {
  const Clock& clock = chain_.clock();
  CORDON_TRY(written,
             close_late(receipt, {receipt.event_id, clock.wall_us(), clock.boot_ms()}, closing));
  if (written) return {};
  return fail(audit_error("the action " + receipt.event_id + " is already closed", 0));
}

Result<bool> Log::close_late(const Receipt& receipt, const Stamp& stamp, const Closing& closing) {
  const Body body{Phase::Closing, receipt.event_id, stamp.wall_us, stamp.boot_ms,
                  closing_members(receipt, closing)};
  CORDON_TRY(locked, chain_.lock(body.wall_us));
  // The table tells that nobody has closed it: neither this process nor a recovery.
  const auto slot = locked.table().slot_of(receipt.event_id);
  if (!slot) return false;
  CORDON_CHECK(locked.append_closing(body, *slot));
  return true;
}

Result<std::string> Log::refuse(const Pending& pending, const Closing& closing) {
  CORDON_TRY(now, stamp(chain_.clock()));
  CORDON_CHECK(refuse_late(now, pending, closing));
  return now.event_id;
}

Result<void> Log::refuse_late(const Stamp& stamp, const Pending& pending, const Closing& closing) {
  CORDON_CHECK(check(pending));
  const Body body{Phase::Closing, stamp.event_id, stamp.wall_us, stamp.boot_ms,
                  refusal_members(pending, closing)};
  CORDON_TRY(locked, chain_.lock(body.wall_us));
  CORDON_CHECK(locked.append(body, Durability::Synced));
  return {};
}

Result<void> Log::tell_gap(const Gap& gap) {
  Node metadata;
  metadata.set("since", Node(format_moment(gap.since_us)))
      .set("late", Node(gap.late))
      .set("dropped", Node(gap.dropped));
  CORDON_TRY(body, chain_.note("audit.gap", std::move(metadata)));
  CORDON_TRY(locked, chain_.lock(body.wall_us));
  CORDON_CHECK(locked.append(body, Durability::Later));
  return {};
}

Result<std::vector<std::string>> Log::close_lost() {
  std::vector<std::string> closed;
  const std::int64_t now_us = chain_.clock().wall_us();
  const std::uint64_t boot_ms = chain_.clock().boot_ms();
  CORDON_TRY(locked, chain_.lock(now_us));
  const std::vector<OpenEntry> slots = locked.table().slots();
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    const OpenEntry& entry = slots[slot];
    if (entry.seq == 0 || writer_may_live(entry, chain_.writer().pid_namespace)) continue;
    const auto record = locked.record_at(entry.day, entry.offset);
    const bool there = record && record->intact && record->event_id == entry.event_id &&
                       record->seq == entry.seq && record->phase == Phase::Pending;
    if (!there) {
      // The table is a hint; one that leads nowhere is dropped.
      CORDON_CHECK(locked.table().clear(slot));
      continue;
    }
    const Receipt receipt{entry.event_id, entry.seq, slot, std::string(record->action),
                          std::string(record->resource)};
    Closing closing;
    closing.ending = Ending::Crash;
    const Body body{Phase::Closing, entry.event_id, now_us, boot_ms,
                    closing_members(receipt, closing)};
    CORDON_CHECK(locked.append_closing(body, slot));
    closed.push_back(entry.event_id);
  }
  return closed;
}

}  // namespace cordon::audit
