// Help, made from the flag table: the short form fits 79 columns with one line for each flag, the
// long form explains and ends with examples, the manual form is the OPTIONS of a page.
#pragma once

#include <string>

#include "cli/flag_table.h"

namespace cordon {

std::string short_help(const Verb& verb);
std::string long_help(const Verb& verb);
// In scdoc form: OPTIONS and EXAMPLES of a page, or the section of a sub-verb.
std::string manual_options(const Verb& verb);

// "cordon run"
std::string command_name(const Verb& verb);

}  // namespace cordon
