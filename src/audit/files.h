// Files and the directory of the audit log: regular, of this user alone, never through a symlink.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace cordon::audit {

enum class IfAbsent { Refuse, Make };

// The directory of the log. Making it makes missing parents too, all 0700. One that is a symlink,
// belongs to another user or that others may enter is refused.
Result<Fd> open_private_directory(const std::string& path, IfAbsent absent);

// `name` in the directory, with these flags of open(2). An error carries the errno.
Result<Fd> open_private_file(int directory, const std::string& name, int flags);

// The files of the log: one for each UTC day, YYYY-MM-DD.jsonl.

std::string file_of_day(const std::string& day);
// The days that have a file, in order. `directory` is a descriptor of the audit directory.
Result<std::vector<std::string>> list_days(int directory);

// LineReader: the lines of one day file, in order, with their places. It holds a bounded piece of
// the file, however long the file or a line in it is.

struct Line {
  std::uint64_t offset = 0;
  std::uint64_t number = 0;  // counted from 1
  std::string_view text;     // without the newline; valid until the next call
  bool complete = true;      // false: the file ended before a newline
  bool overlong = false;     // longer than a record may be: `text` is empty
  [[nodiscard]] std::uint64_t end() const { return offset + length + (complete ? 1 : 0); }
  std::uint64_t length = 0;  // of the line without its newline
};

class LineReader {
 public:
  // Reads [from, until) of the descriptor, which stays the caller's.
  LineReader(int file, std::uint64_t from, std::uint64_t until)
      : file_(file), at_(from), read_to_(from), until_(until) {}

  // False at the end.
  Result<bool> next(Line& line);

 private:
  Result<void> fill();

  int file_;
  std::uint64_t at_;       // the place of the first byte of `buffer_` that was not given out
  std::uint64_t read_to_;  // the place behind the last byte of `buffer_`
  std::uint64_t until_;
  std::uint64_t number_ = 0;
  std::string buffer_;
  std::size_t begin_ = 0;
};

}  // namespace cordon::audit
