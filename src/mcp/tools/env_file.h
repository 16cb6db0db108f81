// The file that CORDON_ENV_FILE (or ENTRABOT_ENV_FILE) names: variables for a server whose host
// starts it without any. Never a file that merely lies in a project.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "policy/host_facts.h"

namespace cordon::mcp {

// One NAME=value per line, split at the first '=', blanks around both removed; empty lines and
// lines that begin with '#' are skipped. What is no assignment is an error with its line.
Result<std::map<std::string, std::string>> read_env_lines(std::string_view text,
                                                          const std::string& file);
// Adds to this process's environment what is not set there yet. Its path, or nothing if no file is
// named. Call it before any thread is started.
Result<std::string> load_env_file(const Caller& caller);

}  // namespace cordon::mcp
