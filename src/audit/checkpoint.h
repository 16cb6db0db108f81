// Checkpoints: signed statements "record SEQ had this hash", in audit/checkpoints.jsonl. A log that
// was rolled back, head and all, no longer agrees with one that was kept; and a log that was pruned
// begins at one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "audit/record_line.h"

namespace cordon::audit {

struct Checkpoint {
  std::uint64_t seq = 0;
  std::string hash;
  std::string day;
  std::string timestamp;
  std::string reason;  // "regular", "verify", "prune"
  std::string public_key;
  std::string line;  // as it stands in the file
};

Checkpoint make_checkpoint(const Link& last, const std::string& day, std::string_view reason,
                           std::int64_t wall_us, const Key& seed);
// An error if the line is not one, or if its signature does not hold.
Result<Checkpoint> read_checkpoint(std::string_view line);

// Appends, durably. `directory` is locked by the caller.
Result<void> append_checkpoint(int directory, const Checkpoint& checkpoint);

struct StoredCheckpoint {
  std::uint64_t line = 0;
  Result<Checkpoint> checkpoint;
};
// None if there is no file.
Result<std::vector<StoredCheckpoint>> read_checkpoints(int directory);

inline constexpr const char* kCheckpointFile = "checkpoints.jsonl";
inline constexpr const char* kSigningKey = "signing.key";

}  // namespace cordon::audit
