#include "audit/chain_walk.h"

#include <algorithm>
#include <cstring>

#include "audit/files.h"
#include "audit/record.h"

namespace cordon::audit {
namespace {

constexpr std::size_t kMostFindings = 100;

std::uint64_t beginning_of(const Digest& hash) {
  std::uint64_t value = 0;
  std::memcpy(&value, hash.data(), sizeof value);
  return value | 1U;  // zero means: never seen
}

std::string range(std::uint64_t from, std::uint64_t to) {
  if (from == to) return "record " + std::to_string(from);
  return "records " + std::to_string(from) + " to " + std::to_string(to);
}

// A recovery may go on behind numbers that a power cut took.
bool tells_loss(const Record& record, const Link& last) {
  if (record.phase != Phase::Note || record.action != "audit.recovery") return false;
  const auto from = number_in(*record.metadata, "lost_from");
  const auto to = number_in(*record.metadata, "lost_to");
  return from && to && static_cast<std::uint64_t>(*from) == last.seq + 1 &&
         static_cast<std::uint64_t>(*to) + 1 == record.seq;
}

}  // namespace

void ChainWalk::enter_day(const std::string& day) {
  day_end_us_ = start_of_day(day).value_or(0) + kDayUs;
  file_ = file_of_day(day);
  result_.days.push_back({day, last_, 0});
}

void ChainWalk::leave_day() { result_.days.back().last = last_; }

void ChainWalk::add(Fault fault, std::uint64_t line, std::uint64_t seq, std::string what) {
  if (result_.findings.size() < kMostFindings) {
    result_.findings.push_back({fault, file_, line, seq, std::move(what)});
  }
}

void ChainWalk::add_last(Fault fault, std::string what) {
  result_.findings.push_back({fault, last_file_, last_line_, last_.seq, std::move(what)});
}

void ChainWalk::add_head(const Error& why) {
  result_.findings.push_back({Fault::HeadMismatch, "head", 0, last_.seq, why.what});
}

bool ChainWalk::found(Fault fault) const {
  return std::ranges::find(result_.findings, fault, &Finding::fault) != result_.findings.end();
}

bool ChainWalk::had(std::uint64_t seq, const Digest& hash) const {
  if (seq == 0 || seq < result_.first_seq) return false;
  const std::uint64_t at = seq - result_.first_seq;
  return at < seen_.size() && seen_[at] == beginning_of(hash);
}

void ChainWalk::take(const DecodedLine& decoded) {
  const Line& line = decoded.line;
  ++result_.records;
  ++result_.days.back().records;
  if (line.overlong) return take_damaged(line, "the line is longer than a record");
  if (decoded.fault) return take_damaged(line, decoded.fault->what);
  const Record& record = decoded.record;
  if (!record.intact) return take_damaged(line, "its hash is not that of its bytes");
  if (keyed_from_ && record.seq >= *keyed_from_ && !decoded.keyed) {
    return take_damaged(line, "it was not written with audit/key");
  }
  take_record(line, record);
}

// Whatever number it carries now, it stands where the next record belongs.
void ChainWalk::take_damaged(const Line& line, const std::string& why) {
  if (!begun_) {
    begun_ = true;
    last_ = start_.value_or(Link{});
    result_.first_seq = last_.seq + 1;
  }
  const std::uint64_t seq = last_.seq + 1;
  add(Fault::Edit, line.number, seq, why);
  last_.seq = seq;
  last_line_ = line.number;
  last_file_ = file_;
  resync_ = true;
  reserve_for(seq);
}

// A forged number must not make us reserve the memory of all that it skips.
bool ChainWalk::reserve_for(std::uint64_t seq) {
  constexpr std::uint64_t kLargestStep = std::uint64_t{1} << 24U;
  const std::uint64_t at = seq - result_.first_seq;
  if (at >= seen_.size() + kLargestStep) return false;
  seen_.resize(std::max<std::size_t>(seen_.size(), at + 1));
  return true;
}

void ChainWalk::begin(const Line& line, const Record& record) {
  begun_ = true;
  const Link before = start_.value_or(Link{});
  // Records from before a prune may still be there if it was interrupted; the checkpoint tells
  // which record the chain then must come to.
  const bool unfinished_prune = record.seq <= before.seq;
  const bool at_start =
      unfinished_prune || (record.seq == before.seq + 1 && record.prev == before.hash);
  result_.first_seq = record.seq;
  if (!at_start) {
    const bool earlier = record.seq > before.seq + 1;
    if (earlier) missing_.push_back({before.seq + 1, record.seq - 1, result_.findings.size()});
    add(earlier ? Fault::Removal : Fault::Edit, line.number, earlier ? before.seq + 1 : record.seq,
        earlier ? range(before.seq + 1, record.seq - 1) + " missing at the beginning"
                : "it does not begin the log");
  }
  last_ = {record.seq - 1, {}};
  resync_ = true;
}

// True if the record stands somewhere else than it belongs, which is said once.
bool ChainWalk::displaced(const Line& line, const Record& record) {
  if (record.seq > last_.seq) return false;
  if (had(record.seq, record.digest)) {
    add(Fault::Duplication, line.number, record.seq,
        "record " + std::to_string(record.seq) + " stands there before");
    return true;
  }
  const auto gap = std::ranges::find_if(missing_, [&](const Missing& missing) {
    return missing.from <= record.seq && record.seq <= missing.to;
  });
  if (gap == missing_.end()) {
    add(Fault::Edit, line.number, record.seq,
        "another record has the number " + std::to_string(record.seq));
    return true;
  }
  if (gap->finding < result_.findings.size()) {
    Finding& finding = result_.findings[gap->finding];
    finding.fault = Fault::Reorder;
    finding.what = range(gap->from, gap->to) + " belong before it, and stand behind it";
  }
  return true;
}

void ChainWalk::check_link(const Line& line, const Record& record) {
  const std::uint64_t expected = last_.seq + 1;
  const bool links = record.prev == last_.hash;
  if (record.seq == expected) {
    // Both lines have the hash of their bytes, and the later one is what the next refers to: the
    // earlier one was rewritten.
    if (!links && !resync_) {
      add_last(Fault::Edit, "the record behind it refers to another hash");
    }
    return;
  }
  if (links && tells_loss(record, last_)) {
    result_.notices.push_back(file_ + ":" + std::to_string(line.number) + ": " +
                              range(expected, record.seq - 1) +
                              " were lost in a power cut before they were synced");
    return;
  }
  missing_.push_back({expected, record.seq - 1, result_.findings.size()});
  add(Fault::Removal, line.number, expected,
      range(expected, record.seq - 1) + " missing before it");
}

void ChainWalk::pair(const Line& line, const Record& record) {
  const auto unpaired = [&](std::string what) {
    unpaired_.push_back({Fault::Pairing, file_, line.number, record.seq, std::move(what)});
  };
  if (record.phase == Phase::Pending &&
      !open_.emplace(std::string(record.event_id), record.seq).second) {
    unpaired("the action was begun before");
  }
  if (record.phase != Phase::Closing) return;
  const auto closes = number_in(*record.metadata, "pending_seq");
  if (!closes) return;
  const auto opened = open_.find(std::string(record.event_id));
  if (opened != open_.end() && opened->second == static_cast<std::uint64_t>(*closes)) {
    open_.erase(opened);
  } else if (static_cast<std::uint64_t>(*closes) >= result_.first_seq) {
    unpaired("the action it closes is not open");
  }
}

void ChainWalk::advance(const Line& line, const Record& record) {
  last_ = {record.seq, record.digest};
  last_line_ = line.number;
  last_file_ = file_;
  resync_ = false;
  if (record.boot_id != current_boot_) last_before_boot_ = record.seq;
  if (reserve_for(record.seq)) {
    seen_[record.seq - result_.first_seq] = beginning_of(record.digest);
  }
}

void ChainWalk::take_record(const Line& line, const Record& record) {
  if (!begun_) begin(line, record);
  if (displaced(line, record)) return;
  check_link(line, record);
  if (record.wall_us >= day_end_us_) {
    add(Fault::Reorder, line.number, record.seq, "it was written after the day of this file");
  }
  pair(line, record);
  advance(line, record);
}

Verification ChainWalk::finish() && {
  result_.last = last_;
  result_.open = open_.size();
  // A broken chain explains every missing half of a pair.
  if (result_.findings.empty()) result_.findings = std::move(unpaired_);
  return std::move(result_);
}

}  // namespace cordon::audit
