// fingerprint: what stands under a name, as one line of text that can be written down and compared
// later. Two objects with one fingerprint are the same to whoever uses them: type, permission bits,
// content, and for a directory everything in it. Owner and times do not count.
#pragma once

#include <string>

namespace cordon {

inline constexpr const char* kAbsent = "absent";
// Of something that nothing can be compared with: it could not be read, or has no content.
inline constexpr const char* kUnknown = "unknown";

// Follows no symlink and opens no FIFO.
std::string fingerprint(int directory, const std::string& name);
// The same by a canonical absolute path.
std::string fingerprint_path(const std::string& path);

}  // namespace cordon
