// What an executor on Windows is asked to start. There is no shell in between: a builtin of cmd
// needs "cmd /c".
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::processcontainer {

// `cmd /c type "PATH"`. Quotes in the path, which no path on Windows holds, are dropped, so that
// what cmd would act on (& | < > ^ and parentheses) stays inside the quotes. Nothing for a path
// with control characters. A `%NAME%` in it is expanded by cmd all the same, and nothing prevents
// that: the path of a file that is read must not come from a stranger.
std::optional<std::string> read_command(std::string_view path);

// An interpreter that decodes its second argument into the file that the first names: the bytes are
// on the line in base64 only. Nothing if the line would be longer than Windows takes.
std::optional<std::string> write_command(const std::string& interpreter, const std::string& path,
                                         std::string_view bytes);

// What a tool needs granted beside what the policy says: infrastructure, added after the clamp and
// for reading only.
struct Grants {
  std::vector<std::string> read;
  std::vector<std::string> write;
  bool operator==(const Grants&) const = default;
};
// Reading a file needs the directory it lies in.
Grants grants_to_read(std::string_view path);
// Writing needs that directory, and the directories that the interpreter is run from.
Grants grants_to_write(std::string_view path, const std::vector<std::string>& runtime);

// "C:\a" for "C:\a\b", "C:\" for "C:\a"; a path without a separator has none.
std::string parent_of(std::string_view path);

// How everything that an executor started is ended. Ending the executor alone is not enough: what
// it started would hold the streams, and whoever reads them would wait for ever.
struct TreeEnd {
  std::vector<std::string> argv;
  std::chrono::seconds bound;  // for it to be done
  std::chrono::seconds drain;  // for what is still in the streams, afterwards
};
TreeEnd end_of_tree(unsigned long process);

}  // namespace cordon::processcontainer
