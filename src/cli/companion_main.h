// What the main() of a companion does: the one verb it carries out, with the words behind it.
#pragma once

#include <span>
#include <string_view>

#include "cli/arguments.h"

namespace cordon {

// `words` with the program's name first. Started without its verb, it says what it is a part of.
int companion_main(std::string_view verb, int (*entry)(const Arguments&),
                   std::span<const char* const> words);

}  // namespace cordon
