// IndexUpdate: the tables of the index, and how records are put into them. Private to the index.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "audit/decode_line.h"
#include "audit/sqlite.h"

namespace cordon::audit {

inline constexpr int kIndexVersion = 2;
extern const char* const kIndexTables;
extern const char* const kIndexOrders;

// How far the index has followed the files.
struct Followed {
  std::string day;
  std::uint64_t line_start = 0;  // of the last line that was taken
  std::uint64_t offset = 0;      // behind it
  std::string hash;
};

class IndexUpdate {
 public:
  explicit IndexUpdate(const Database& database);
  bool take(const Record& record, const std::string& day, std::uint64_t offset) {
    return take_as(record.seq, record, day, offset);
  }
  // Under a number that is not the record's own.
  bool take_as(std::uint64_t seq, const Record& record, const std::string& day,
               std::uint64_t offset);
  // Behind the last record: what was begun and has not ended is written as well.
  bool finish();
  bool follow(const Followed& followed);

 private:
  // The beginning of an action. Nearly every one is followed by its end within a few records: it is
  // kept until then and written once, not written and found again.
  struct Begun {
    std::uint64_t seq = 0;
    std::int64_t wall_us = 0;
    std::string action;
    std::string tool;
    std::string resource;
    std::string cwd;
    std::string backend;
    std::string day;
    std::uint64_t offset = 0;
  };

  // Texts that are looked up without being copied.
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  template <typename Value>
  using ByText = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;
  // A row that is put in. Nearly none is there before, and who replaces nothing keeps no journal of
  // its own of each page: that is tried first.
  struct Insertion {
    Statement fresh;
    Statement replacing;
    Insertion(const Database& database, const std::string& columns_and_values);
    // `bind` binds all that is put in.
    template <typename Bind>
    bool run(const Bind& bind) {
      bind(fresh);
      const Statement::Ran ran = fresh.try_run();
      if (ran != Statement::Ran::Conflict) return ran == Statement::Ran::Done;
      bind(replacing);
      return replacing.run();
    }
  };

  bool begin_event(std::uint64_t seq, const Record& record, const std::string& day,
                   std::uint64_t offset);
  bool end_event(std::uint64_t seq, const Record& record, const std::string& day,
                 std::uint64_t offset);
  bool write_begun(const std::string& event_id, const Begun& begun);
  bool write_both(const Begun& begun, const Record& record, const std::string& day,
                  std::uint64_t offset);
  std::optional<std::int64_t> word_of(std::string_view text);
  bool add_word(std::uint64_t seq, std::string_view text);
  bool add_labels(std::uint64_t seq, const Record& record, const LineValue& request);
  bool add_label(std::uint64_t seq, std::string_view label);
  bool label_of_who(std::string_view kind, std::string_view who, std::uint64_t seq);

  Insertion begin_;
  Insertion both_;
  Statement end_;
  Statement word_;
  Statement label_;
  Statement follow_;
  ByText<Begun> begun_;  // by event id
  ByText<std::int64_t> words_;
};

// What a label is found by: its hash, or itself if it has none.
std::string_view searched_label(std::string_view label);

}  // namespace cordon::audit
