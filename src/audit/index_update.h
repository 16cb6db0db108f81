// IndexUpdate: puts records into the tables of the index. Private to the index.
#pragma once

#include <string>

#include "audit/record_line.h"
#include "audit/sqlite.h"

namespace cordon::audit {

inline constexpr int kIndexVersion = 1;
extern const char* const kIndexTables;

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
  bool take(const Record& record, const std::string& day, std::uint64_t offset);
  bool follow(const Followed& followed);

 private:
  bool begin_event(const Record& record, const std::string& day, std::uint64_t offset);
  bool end_event(const Record& record, const std::string& day, std::uint64_t offset);
  bool add_labels(std::uint64_t seq, const Record& record, const Node& request);
  bool add_label(std::uint64_t seq, const std::string& label);

  Statement begin_;
  Statement end_;
  Statement label_;
  Statement follow_;
};

// What a label is found by: its hash, or itself if it has none.
std::string searched_label(const std::string& label);

}  // namespace cordon::audit
