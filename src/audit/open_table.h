// The table of open actions: where each pending record without a closing one lies, and which
// process wrote it. A hint that spares every start a search through the log; whoever acts on an
// entry reads the record it names. It is worth nothing after a restart of the host, and made anew.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace cordon::audit {

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
  [[nodiscard]] std::optional<std::size_t> slot_of(const std::string& event_id) const;
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
