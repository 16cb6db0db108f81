// DecodedLines: the lines of one day file with the records they hold, in order. A log of years is
// mostly decoded and hashed, and each line can be by itself: that is done for a batch of lines at
// a time, on all processors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/files.h"
#include "audit/record_line.h"

namespace cordon::audit {

struct DecodedLine {
  Line line;
  // Nothing for a line that is not complete or longer than a record.
  std::optional<Result<Record>> record;
  // Whether its mac is of the key; false without a key or a record.
  bool keyed = false;
};

class DecodedLines {
 public:
  // Reads [from, until) of the descriptor, which stays the caller's.
  DecodedLines(int file, std::uint64_t from, std::uint64_t until, std::optional<Key> key)
      : reader_(file, from, until), key_(key) {}

  // Null at the end; valid until the next call.
  Result<const DecodedLine*> next();

 private:
  Result<void> read_batch();
  void decode_batch();

  LineReader reader_;
  std::optional<Key> key_;
  std::string bytes_;  // what the lines of the batch are views of
  std::vector<DecodedLine> batch_;
  std::size_t at_ = 0;
  bool ended_ = false;
};

}  // namespace cordon::audit
