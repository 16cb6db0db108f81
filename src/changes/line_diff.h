// line_diff: the difference of two texts in the unified form, computed here. No program of the host
// is started for it: what a diff program runs is chosen by configuration that a run may have
// written.
#pragma once

#include <string>
#include <string_view>

namespace cordon {

// Lines with three lines of context around each change; empty if the texts are equal. Control bytes
// are escaped. Texts that are binary, or too large to compare, are told so in one line.
std::string line_diff(std::string_view old_text, std::string_view new_text,
                      std::string_view old_name, std::string_view new_name);

}  // namespace cordon
