// The name of a project's policy: what is typed after --policy, and a file name in policies/.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace cordon::setup {

// Letters, digits, '.', '_' and '-', beginning with a letter or digit, at most 64. A preset cannot
// be shadowed, and a name that ends in .toml or .json would be taken for a file.
Result<void> check_project_name(std::string_view name);

// A name that check_project_name() accepts, made from the last component of a directory, whatever
// bytes it holds.
std::string project_name_of(std::string_view directory);

}  // namespace cordon::setup
