// A bound on dotted keys. Each dot of a key is one level of tables, and the parser builds and frees
// them by recursion: without a bound half a megabyte of "a.a.a" overflows the stack.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace cordon {

// The offset of the dot that makes a key of more than 64 parts; nothing if no key is that long.
std::optional<std::size_t> find_overlong_toml_key(std::string_view text);

}  // namespace cordon
