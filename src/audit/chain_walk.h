// ChainWalk: follows the chain line by line and says where it breaks, and how.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "audit/checkpoint.h"
#include "audit/decode_line.h"
#include "audit/decoded_lines.h"
#include "audit/files.h"
#include "audit/verify.h"

namespace cordon::audit {

class ChainWalk {
 public:
  // `start` is where a pruned log begins, `keyed_from` the first record that must have a mac.
  ChainWalk(std::optional<Link> start, std::string current_boot,
            std::optional<std::uint64_t> keyed_from)
      : start_(start), current_boot_(std::move(current_boot)), keyed_from_(keyed_from) {}

  void enter_day(const std::string& day);
  // A line that the file holds completely.
  void take(const DecodedLine& decoded);
  void leave_day();

  [[nodiscard]] const Link& last() const { return last_; }
  [[nodiscard]] std::uint64_t first_seq() const { return result_.first_seq; }
  [[nodiscard]] std::uint64_t lines_of_day() const {
    return result_.days.empty() ? 0 : result_.days.back().records;
  }
  // Whether the record with that number had that hash; false if there was none.
  [[nodiscard]] bool had(std::uint64_t seq, const Digest& hash) const;
  // Numbers of the last record before this start of the host, and of the last of all.
  // The last line is damaged, which was said: nothing more can be told of the end.
  [[nodiscard]] bool ends_damaged() const { return resync_; }
  [[nodiscard]] std::uint64_t last_before_boot() const { return last_before_boot_; }
  void add(Fault fault, std::uint64_t line, std::uint64_t seq, std::string what);
  void add_last(Fault fault, std::string what);  // about the last record
  void add_head(const Error& why);
  [[nodiscard]] bool found(Fault fault) const;
  Verification finish() &&;

 private:
  void take_record(const Line& line, const Record& record);
  void take_damaged(const Line& line, const std::string& why);
  bool displaced(const Line& line, const Record& record);
  void check_link(const Line& line, const Record& record);
  void begin(const Line& line, const Record& record);
  void pair(const Line& line, const Record& record);
  void advance(const Line& line, const Record& record);
  bool reserve_for(std::uint64_t seq);

  // Numbers that were not where they belong, and the finding that says so.
  struct Missing {
    std::uint64_t from;
    std::uint64_t to;
    std::size_t finding;
  };

  std::optional<Link> start_;
  std::string current_boot_;
  std::optional<std::uint64_t> keyed_from_;
  Verification result_;
  std::int64_t day_end_us_ = 0;  // behind the last microsecond of the day
  std::string file_;
  Link last_;
  std::uint64_t last_line_ = 0;
  std::string last_file_;
  std::uint64_t last_before_boot_ = 0;
  bool begun_ = false;
  bool resync_ = false;  // the line before was damaged: its hash is not to be compared
  std::vector<Missing> missing_;
  std::vector<std::uint64_t> seen_;  // the beginning of each hash, by number
  std::unordered_map<std::string, std::uint64_t> open_;
  std::vector<Finding> unpaired_;
};

}  // namespace cordon::audit
