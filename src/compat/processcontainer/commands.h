// What an executor on Windows is asked to start. There is no shell in between: a builtin of cmd
// needs "cmd /c".
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::processcontainer {

// A list of arguments as the one text that a program on Windows is started with. What that program
// makes of it is its own affair; nearly all split it by the rules of Microsoft's C runtime.

// One argument in the quoting that the C runtime undoes.
std::string quote_argument(std::string_view argument);
// The arguments with blanks between. Nothing if one of them holds a NUL, which ends the text, or if
// there is none, or if the first, the program's name, holds a quote: there the rules are others.
std::optional<std::string> command_line(std::span<const std::string> arguments);

// The command line of MXC's executor on Windows. Unproven: nothing of it ever ran there.

// Windows takes no longer text to start a program with.
inline constexpr std::size_t kMostCommandLine = 32767;
// The first build of Windows whose processes these executors can contain.
inline constexpr unsigned kLeastBuild = 26100;

// `wxc-exec.exe --config-base64 DOCUMENT`: it reads no standard input. Whoever can list processes
// sees the document, so that nothing secret belongs into it. Nothing if it is too long.
std::optional<std::vector<std::string>> executor_arguments(std::string_view document);

// What a runner there would enforce.
struct Record {
  std::string_view backend = "processcontainer";
  bool fs_read = true;
  bool fs_write = true;
  bool execute = true;
  bool net_block = true;
  bool network_host_filtering = false;
  bool deny_paths_supported = false;
  bool proven = false;
};

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
