#include "audit/recorder.h"

#include "audit/upkeep.h"

namespace cordon::audit {
namespace {

constexpr std::size_t kMostKept = 1024;

Log::Stamp now_for(const std::string& event_id) {
  return {event_id, system_clock().wall_us(), system_clock().boot_ms()};
}

}  // namespace

Recorder::Recorder(Place place, AuditChoice choice)
    : place_(std::move(place)), choice_(std::move(choice)) {}

void Recorder::choose(AuditChoice choice) {
  const std::lock_guard<std::mutex> guard(mutex_);
  choice_ = std::move(choice);
}

Result<Redactor> Recorder::redactor(const Caller& caller) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto opened = ready();
  if (log_) return log_->redactor(caller);
  if (choice_.on_failure == AuditFailure::Deny) return fail(opened.error());
  if (!own_key_) {
    CORDON_TRY(key, random_key());
    own_key_ = key;
  }
  return Redactor(*own_key_, caller);
}

Result<void> Recorder::ready() {
  if (!log_) {
    CORDON_TRY(log, Log::open(place_));
    log_ = std::move(log);
  }
  return write_kept();
}

Result<void> Recorder::write_kept() {
  if (since_us_ != 0) {
    CORDON_CHECK(log_->tell_gap({since_us_, kept_.size(), dropped_}));
    since_us_ = 0;
    dropped_ = 0;
  }
  while (!kept_.empty()) {
    const Kept& kept = kept_.front();
    if (kept.refusal) {
      CORDON_CHECK(log_->refuse_late(kept.stamp, kept.pending, *kept.closing));
    } else {
      // Remembered at once: if only the closing record fails, the pending one is not written twice.
      auto written = late_.find(kept.stamp.event_id);
      if (written == late_.end()) {
        CORDON_TRY(receipt, log_->begin_late(kept.stamp, kept.pending));
        written = late_.emplace(kept.stamp.event_id, std::move(receipt)).first;
      }
      if (kept.closing) {
        CORDON_CHECK(log_->close_late(written->second, *kept.ended, *kept.closing));
        late_.erase(written);
      }
    }
    kept_.pop_front();
  }
  return {};
}

Result<Recorder::Ticket> Recorder::keep(Error why, const Pending& pending,
                                        std::optional<Closing> refusal) {
  if (choice_.on_failure == AuditFailure::Deny) return fail(std::move(why));
  CORDON_TRY(stamp, Log::stamp(system_clock()));
  Ticket ticket{{stamp.event_id, 0, 0, pending.action.text(), pending.resource.text()},
                std::move(why)};
  if (since_us_ == 0) since_us_ = stamp.wall_us;
  if (choice_.on_failure == AuditFailure::Warn || kept_.size() >= kMostKept) {
    ++dropped_;
    return ticket;
  }
  const bool is_refusal = refusal.has_value();
  kept_.push_back({std::move(stamp), pending, std::nullopt, std::move(refusal), is_refusal});
  return ticket;
}

Result<Recorder::Ticket> Recorder::begin(const Pending& pending) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (auto able = ready(); !able) return keep(std::move(able).error(), pending, std::nullopt);
  auto receipt = log_->begin(pending);
  if (!receipt) return keep(std::move(receipt).error(), pending, std::nullopt);
  if (tell_) tell_(line_for_people(pending));
  return Ticket{std::move(*receipt), std::nullopt};
}

Result<Recorder::Ticket> Recorder::refuse(const Pending& pending, const Closing& closing) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (auto able = ready(); !able) return keep(std::move(able).error(), pending, closing);
  auto event_id = log_->refuse(pending, closing);
  if (!event_id) return keep(std::move(event_id).error(), pending, closing);
  if (tell_) tell_(line_for_people(pending, closing));
  return Ticket{{std::move(*event_id), 0, 0, {}, {}}, std::nullopt};
}

// The pending record is still kept, was written late, or was dropped, which the gap tells.
Result<void> Recorder::close_kept(const std::string& event_id, const Closing& closing) {
  for (Kept& kept : kept_) {
    if (kept.stamp.event_id != event_id) continue;
    kept.closing = closing;
    kept.ended = now_for(event_id);
    (void)ready();  // still not writable: it stays kept
    return {};
  }
  const auto late = late_.find(event_id);
  if (late == late_.end()) return {};
  const Receipt receipt = late->second;
  late_.erase(late);
  if (auto closed = log_->close(receipt, closing); !closed) {
    return keep_closing(std::move(closed).error(), receipt, closing);
  }
  return {};
}

// The end of an action whose pending record is in the log. It is kept with `warn` too: a missing
// closing record would later read as a crash.
Result<void> Recorder::keep_closing(Error why, const Receipt& receipt, const Closing& closing) {
  if (choice_.on_failure == AuditFailure::Deny || kept_.size() >= kMostKept)
    return fail(std::move(why));
  const Log::Stamp stamp = now_for(receipt.event_id);
  if (since_us_ == 0) since_us_ = stamp.wall_us;
  late_[receipt.event_id] = receipt;
  kept_.push_back({stamp, {}, stamp, closing, false});
  return {};
}

Result<void> Recorder::close(const Ticket& ticket, const Closing& closing) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (ticket.unwritten) return close_kept(ticket.receipt.event_id, closing);
  auto able = ready();
  auto closed = able ? log_->close(ticket.receipt, closing) : fail(std::move(able).error());
  if (!closed) return keep_closing(std::move(closed).error(), ticket.receipt, closing);
  if (tell_) tell_(line_for_people(ticket.receipt, closing));
  return {};
}

Result<void> Recorder::keep_up() {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!log_) return {};  // that it cannot be written was said
  return audit::keep_up(*log_, choice_.keep);
}

Result<std::vector<std::string>> Recorder::close_lost() {
  const std::lock_guard<std::mutex> guard(mutex_);
  CORDON_CHECK(ready());
  return log_->close_lost();
}

}  // namespace cordon::audit
