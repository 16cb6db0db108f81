// Cursors: where a reader may go on, in words that only this server understands. A cursor is good
// for the very question it was given for and for nothing else; one that was made up, changed or
// given by another server is none.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

}  // namespace cordon::mcp
