// The real runtime, started as the engine would have started it: with its streams, its descriptors
// and its environment.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace cordon::oci {

// The program that --runtime names, or the first of runc and crun that is installed. Refuses one
// that others than root and the caller may replace.
Result<std::string> find_runtime(const std::string& named, std::uint32_t uid);

// Becomes the runtime. Returns only with why it could not.
Error become_runtime(const std::string& program, const std::vector<std::string>& words);

// Starts it, passes signals on and waits for its end; the status a shell would give.
//
// What it makes goes on when it has ended, so `undo` (words for the same program; empty: nothing is
// to be undone) is carried out if this process is killed before it could tell the engine how it
// ended.
Result<int> call_runtime(const std::string& program, const std::vector<std::string>& words,
                         const std::vector<std::string>& undo);

// The same, without its streams.
Result<int> ask_runtime(const std::string& program, const std::vector<std::string>& words);

}  // namespace cordon::oci
