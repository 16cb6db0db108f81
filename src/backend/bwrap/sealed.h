// Content that nobody can change any more, whatever name or descriptor they have of it.
#pragma once

#include <string>
#include <string_view>

#include "backend/bwrap/program.h"
#include "base/fd.h"
#include "base/result.h"

namespace cordon::bwrap {

// A sealed memory file; its position is at the start.
Result<Fd> sealed_text(std::string_view content);

// The program that bubblewrap executes as the first process, copied into a sealed memory file: its
// name on disk does not matter from then on. Looked for beside this program, then in the libexec
// directory of its installation.
Result<Program> sealed_inside();

}  // namespace cordon::bwrap
