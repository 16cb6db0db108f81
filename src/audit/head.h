// The head: where the log ends, in a file beside the day files, authenticated by the key. It is
// 512 bytes rewritten in place, one sector, so that a power cut leaves the old one or the new one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/record_line.h"
#include "base/fd.h"
#include "base/result.h"

namespace cordon::audit {

struct Head {
  Link last;                 // the last record; its hash is that of the last line that is there
  std::uint64_t synced = 0;  // records up to this one were on the disk when this was written
  std::string day;           // whose file is the last; empty before the first record
  std::uint64_t size = 0;    // bytes of that file
  std::string boot_id;       // of the host's start in which this was written
  // No pending record before this place is open: where a search after a power cut begins.
  std::string open_day;
  std::uint64_t open_offset = 0;
  // What a recovery found and the next record tells: bytes of a torn line that were cut off, and
  // records behind `synced` that a power cut took.
  std::uint64_t cut_bytes = 0;
  std::uint64_t lost = 0;
  // Records from this one on have a mac; 0: none was written yet, by an older release.
  std::uint64_t keyed_from = 0;
  // Records that a recovery took over and that the next record tells: a writer that died, or a head
  // that a power cut set back, left them behind the one that the head named.
  std::uint64_t adopted_from = 0;
  std::uint64_t adopted_to = 0;
  // The last record that was signed without being asked, and the last day when that was done.
  std::uint64_t signed_seq = 0;
  std::string signed_day;
  // The day when the log was last looked through for days that nobody keeps, and by which bounds.
  std::string swept_day;
  std::uint64_t swept_by = 0;

  // Whether the record with this number must have a mac.
  [[nodiscard]] bool keys(std::uint64_t seq) const { return keyed_from != 0 && seq >= keyed_from; }
  bool operator==(const Head&) const = default;
};

inline constexpr std::size_t kHeadSize = 512;

std::string encode_head(const Head& head, const Key& key);
// An error if the bytes are not a head that was made with this key.
Result<Head> decode_head(std::string_view bytes, const Key& key);

// The table of open actions: where each pending record without a closing one lies, and which
// process wrote it. A hint that spares every start a search through the log; whoever acts on an
// entry reads the record it names. It is worth nothing after a restart of the host, and made anew.

struct OpenEntry {
  std::uint64_t seq = 0;  // zero: a free slot
  std::string event_id;
  std::string day;
  std::uint64_t offset = 0;  // of the line in the file of its day
  std::uint64_t pid = 0;     // zero: its writer is known to be dead
  std::uint64_t pid_namespace = 0;
  std::uint64_t boot_ms = 0;  // when it was written
};

class OpenTable {
 public:
  explicit OpenTable(Fd file) : file_(std::move(file)) {}

  Result<void> read();
  // Valid after read().
  [[nodiscard]] const std::vector<OpenEntry>& slots() const { return slots_; }
  [[nodiscard]] std::optional<std::size_t> slot_of(std::string_view event_id) const;
  [[nodiscard]] std::size_t free_slot() const;  // may lie behind the last one
  [[nodiscard]] const OpenEntry* oldest() const;

  Result<void> put(std::size_t slot, const OpenEntry& entry);
  Result<void> clear(std::size_t slot) { return put(slot, OpenEntry{}); }
  Result<void> replace(const std::vector<OpenEntry>& entries);

 private:
  Fd file_;
  std::vector<OpenEntry> slots_;
};

// False if no process can have written it: its number is free, or belongs to one that started
// later. True for a process that cannot be looked at: in another namespace, or of another user.
bool writer_may_live(const OpenEntry& entry, std::uint64_t own_pid_namespace);

}  // namespace cordon::audit
