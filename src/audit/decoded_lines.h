// DecodedLines: the lines of one day file with the records they hold, in order. A log of years is
// mostly decoded and hashed, and each line can be by itself: that is done for a batch of lines at
// a time, on all processors, while the lines of the batch before are made use of.
#pragma once

#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "audit/decode_line.h"
#include "audit/files.h"
#include "base/hmac.h"

namespace cordon::audit {

struct DecodedLine {
  Line line;
  // A line that is not complete, or longer than a record, has neither.
  bool has_record = false;
  std::optional<Error> fault;  // why it has none
  Record record;               // if it has one
  // Whether its mac is of the key; false without a key or a record.
  bool keyed = false;
};

class DecodedLines {
 public:
  // Reads [from, until) of the descriptor, which stays the caller's.
  DecodedLines(int file, std::uint64_t from, std::uint64_t until, std::optional<Key> key)
      : reader_(file, from, until), key_(key ? std::optional(Hmac(*key)) : std::nullopt) {}
  DecodedLines(const DecodedLines&) = delete;
  DecodedLines& operator=(const DecodedLines&) = delete;

  // Null at the end; valid until the next call.
  Result<const DecodedLine*> next();

 private:
  struct Batch {
    std::string bytes;               // what the lines are views of
    std::vector<DecodedLine> lines;  // the first `count` are those of the batch
    std::size_t count = 0;
  };
  // Stays where it is: the lines of a short one would be views of what moved.
  using Owned = std::unique_ptr<Batch>;

  Result<Owned> read();
  Owned empty_batch();
  void decode(Batch& batch) const;
  Result<void> advance();

  LineReader reader_;
  bool read_all_ = false;
  std::optional<Hmac> key_;
  Owned batch_;  // whose lines are given out
  Owned spent_;  // one whose lines were given out: its memory is used again
  std::size_t at_ = 0;
  std::deque<std::future<Owned>> decoding_;  // in order; each is waited for before the rest goes
};

}  // namespace cordon::audit
