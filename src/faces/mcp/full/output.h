// Cursors: where a reader may go on, in words that only this server understands. A cursor is good
// for the very question it was given for and for nothing else; one that was made up, changed or
// given by another server is none.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace cordon::mcp {

class Cursors {
 public:
  Cursors();  // with a key of its own
  // `subject` says what is being read; the place is up to two numbers.
  struct Place {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    bool operator==(const Place&) const = default;
  };
  [[nodiscard]] std::string make(std::string_view subject, Place place) const;
  [[nodiscard]] std::optional<Place> read(std::string_view subject, std::string_view cursor) const;

 private:
  [[nodiscard]] std::string seal(std::string_view subject, std::string_view place) const;
  std::array<std::uint8_t, 32> key_{};
};

// OutputStore: what one stream of a process wrote, on disk and bounded: its beginning, and as much
// of its end as fits. The file has no name, so nothing is left of it when the server dies, however
// it dies. Not safe for concurrent use; its owner locks.

struct StoreBounds {
  std::uint64_t head = std::uint64_t{64} << 10U;
  std::uint64_t tail = std::uint64_t{1} << 20U;
};

class OutputStore {
 public:
  // `directory` is the server's own, where the file is made with the first byte.
  OutputStore(std::string directory, StoreBounds bounds)
      : directory_(std::move(directory)), bounds_(bounds) {}

  void add(std::string_view bytes);
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }  // everything that was written

  struct Piece {
    std::string bytes;
    std::uint64_t begin = 0;  // past what was asked for if that is not kept any more
  };
  // From `offset`, at most `most` bytes of what is kept in one piece.
  [[nodiscard]] Piece read(std::uint64_t offset, std::uint64_t most) const;

 private:
  [[nodiscard]] std::uint64_t tail_begin() const;
  void write_tail(std::string_view bytes);
  [[nodiscard]] bool usable();
  void write_at(std::uint64_t place, std::string_view bytes);

  std::string directory_;
  StoreBounds bounds_;
  Fd file_;
  bool failed_ = false;  // the disk took something not: what follows is counted only
  std::uint64_t bytes_ = 0;
  std::uint64_t kept_to_ = 0;  // the place behind the last byte that is in the file
};

// A file without a name in `directory`, which is made if it is missing: owner-only, gone with its
// last descriptor.
Result<Fd> nameless_file(const std::string& directory);

}  // namespace cordon::mcp
