// The one program that file tools run inside their sandbox: this executable again, under a verb
// that no person types. It reads or writes exactly one file; no shell and no interpreter is needed,
// and neither path nor content is ever part of a command text.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cordon::mcp {

inline constexpr std::string_view kFileInside = "file-inside";
// What "read" is given to bring back at most: more than a result can show.
inline constexpr std::size_t kMostRead = 16'384;

// `read PATH`: up to kMostRead bytes on standard output, the size of the file on standard error.
// `write PATH SIZE`: SIZE bytes from standard input; with fewer nothing is changed, for then
// whoever sends them has died. `ask OPERATION PATH SIZE`: see mcp/inside/inside.h. The status is 0
// or the errno of what failed, and standard error says it.
int file_inside(std::span<const char* const> words);

// Replaces the file, or makes it. At once, by a rename, where its directory can be written; in
// place where only the file itself can. The mode of an existing file is kept unless one is given. A
// file that this process may not write is left alone although a rename could replace it. 0 or an
// errno; what is neither a regular file nor absent is EINVAL.
int put_file(const std::string& path, std::string_view content, std::optional<unsigned> mode);

}  // namespace cordon::mcp
