// What the file tools of the profile `full` do inside their sandbox: the part of Cordon's own
// program that meets the files. A request and its answer are one JSON document each, through
// standard input and output. Nothing here decides what may be touched; the sandbox does.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "config/node.h"

namespace cordon::mcp {

inline constexpr std::string_view kAskInside = "ask";
// What a request and an answer may hold.
inline constexpr std::size_t kMostInsideRequest = std::size_t{32} << 20U;
inline constexpr std::size_t kMostInsideAnswer = std::size_t{16} << 20U;

// An answer, or the errno of what failed. A request that cannot be carried out for a reason of the
// file's own has the member "fault".
using InsideReply = tl::expected<Node, int>;

// A number of a request that is not negative.
std::size_t number_or(const Node& request, std::string_view name, std::size_t otherwise);

InsideReply read_inside(const std::string& path, const Node& request);
InsideReply write_inside(const std::string& path, const Node& request);
InsideReply edit_inside(const std::string& path, const Node& request);
InsideReply list_inside(const std::string& path, const Node& request);
InsideReply search_inside(const std::string& path, const Node& request);
InsideReply survey_inside(const std::string& path, const Node& request);

// `ask OPERATION PATH SIZE`: SIZE bytes of a request from standard input; with fewer nothing is
// done. The status is 0 or an errno, which standard error says.
int ask_inside(std::span<const char* const> words);

// Reading a file as a whole, and knowing later whether it is still the same.

// Results with an errno.
template <typename T>
using Or = tl::expected<T, int>;

Or<std::string> read_bytes(int descriptor, std::size_t limit);
// By its beginning, as git and grep tell.
bool is_binary(std::string_view content);
int write_bytes(int descriptor, std::string_view bytes);  // 0 or an errno

// Which version of a file it was.
struct Version {
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t changed_ns = 0;  // ctime: no program can set it back
  bool operator==(const Version&) const = default;
};
struct WholeFile {
  std::string content;  // at most the limit
  Version version;
};
// Never through a link, and without waiting for a FIFO's writer. EISDIR, EINVAL for what is not
// regular.
Or<WholeFile> read_whole(const std::string& path, std::size_t limit);
// ENOENT if it is not there.
Or<Version> version_of(const std::string& path);

// Held by whoever changes the file, so that two servers do not overwrite what the other has just
// written. It lies on the directory, since a file is replaced by another one; on the file itself
// where the directory cannot be opened. EAGAIN if somebody holds it for longer than two seconds.
Or<Fd> lock_for_change(const std::string& path);

// The one program that file tools run inside their sandbox: this executable again, under a verb
// that no person types. It reads or writes exactly one file; no shell and no interpreter is needed,
// and neither path nor content is ever part of a command text.

inline constexpr std::string_view kFileInside = "file-inside";
// What "read" is given to bring back at most: more than a result can show.
inline constexpr std::size_t kMostRead = 16'384;

// `read PATH`: up to kMostRead bytes on standard output, the size of the file on standard error.
// `write PATH SIZE`: SIZE bytes from standard input; with fewer nothing is changed, for then
// whoever sends them has died. `ask OPERATION PATH SIZE`: see faces/mcp/inside/inside.h. The status
// is 0 or the errno of what failed, and standard error says it.
int file_inside(std::span<const char* const> words);

// Replaces the file, or makes it. At once, by a rename, where its directory can be written; in
// place where only the file itself can. The mode of an existing file is kept unless one is given. A
// file that this process may not write is left alone although a rename could replace it. 0 or an
// errno; what is neither a regular file nor absent is EINVAL.
int put_file(const std::string& path, std::string_view content, std::optional<unsigned> mode);

}  // namespace cordon::mcp
