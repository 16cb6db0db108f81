// Writing one small file into a directory that others may have written to before.
#pragma once

#include <string>
#include <string_view>

namespace cordon {

inline constexpr unsigned kOwnerOnlyFile = 0600;

// A name for a moment that nobody can have planted; empty if there is no randomness.
std::string unguessable_name();
// Writes a new file under a name nobody can have planted, then gives it `name` unless that is
// taken. 0 or errno.
int put_file(int directory, const std::string& name, std::string_view content, unsigned mode);
// The same, in place of what has that name: at once, so that a reader sees the old or the new file.
int replace_file(int directory, const std::string& name, std::string_view content, unsigned mode);

}  // namespace cordon
