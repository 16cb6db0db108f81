// Spellings of paths, before anything is looked at.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "policy/host_facts.h"

namespace cordon {

// `text` as canonicalize() takes it, made absolute and normal. "~user", ".." after "~", NUL bytes
// and over-long paths are policy errors.
Result<std::string> spell_absolute(std::string_view text, std::string_view base,
                                   const Caller& caller);

}  // namespace cordon
