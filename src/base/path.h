// Paths as component lists. Nothing here touches the file system.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cordon {

// True if `path` is `root` or lies below it, by whole components: /tmp does not contain /tmpx.
// Both are absolute and normal (see normalize).
bool contains(std::string_view root, std::string_view path);

// Removes doubled separators, "." and a trailing slash. ".." is left alone: only the file system
// knows what it means behind a symlink. The result of "" is "/".
std::string normalize(std::string_view absolute);
bool has_dotdot(std::string_view path);

std::string join(std::string_view directory, std::string_view name);
std::string_view parent(std::string_view normal);    // "/" for "/" and "/a"
std::string_view basename(std::string_view normal);  // "" for "/"
std::vector<std::string_view> components(std::string_view normal);
// Takes the first name off `rest`, with the slashes before it. Empty: there is none.
std::string_view take_name(std::string_view& rest);

// A glob with '*', '?', '[...]' within a component and '**' across components. `pattern` without a
// '/' matches the last component of `path`; otherwise it matches the whole relative path.
bool glob_match(std::string_view pattern, std::string_view path);
bool is_glob(std::string_view text);

}  // namespace cordon
