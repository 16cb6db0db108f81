// JsonLine: one value of JSON that Cordon itself wrote on a line, with everything in it in one
// list. A log of years is millions of lines, and a tree of nodes for each costs more than reading
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cordon {

struct LineValue {
  enum class Kind : std::uint8_t { Null, Bool, Integer, Real, Text, List, Map };

  Kind kind = Kind::Null;
  bool truth = false;      // of a Bool
  std::uint32_t span = 1;  // itself and what lies in it: the next of its level is so many behind it
  std::string_view key;    // of a member of a map
  std::string_view text;   // of a Text; of a Real as it is written
  std::int64_t number = 0;  // of an Integer

  // Over what lies directly in it: nothing, unless it is a list or a map.
  class Iterator {
   public:
    explicit Iterator(const LineValue* at) : at_(at) {}
    const LineValue& operator*() const { return *at_; }
    Iterator& operator++() {
      at_ += at_->span;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const LineValue* at_;
  };
  [[nodiscard]] Iterator begin() const { return Iterator(this + 1); }
  [[nodiscard]] Iterator end() const { return Iterator(this + span); }

  // A member of a map; null if it is absent, or if this is none.
  [[nodiscard]] const LineValue* find(std::string_view member) const {
    if (kind != Kind::Map) return nullptr;
    for (const LineValue& value : *this) {
      if (value.key == member) return &value;
    }
    return nullptr;
  }
};

class JsonLine {
 public:
  JsonLine() = default;
  JsonLine(JsonLine&&) = default;  // values stay where they are
  JsonLine& operator=(JsonLine&&) = default;
  JsonLine(const JsonLine&) = delete;
  JsonLine& operator=(const JsonLine&) = delete;
  ~JsonLine() = default;

  // Refuses what `read_json` refuses, without the place and the reason. The values refer to a copy
  // of the text that is kept here, until the next call; its memory is used again then.
  bool read(std::string_view text);
  // Only after a reading that was good.
  [[nodiscard]] const LineValue& root() const { return values_.front(); }

 private:
  std::vector<char> bytes_;  // never a string: the bytes of a short one move with it
  std::vector<LineValue> values_;
};

}  // namespace cordon
