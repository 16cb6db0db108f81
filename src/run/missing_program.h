// What to do about a program that could not be started inside: that it is a line for a shell, a
// word of the shell, outside of what is granted, not on the PATH inside, or no program at all.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cordon/error.h"
#include "host/caller.h"
#include "run/judge.h"

namespace cordon {

// A command that was asked for, and where.
struct AskedCommand {
  const std::vector<std::string>& argv;
  const Caller& caller;
  std::string start = "cordon run -- ";  // what stands before a command that is typed anew
  // What stands before that and its options; empty: no option sets a variable there.
  std::string run = "cordon run";
  // Whether a ceiling bounds the variables that an option sets.
  bool variables_are_bound = false;
  std::string path_inside = {};  // PATH; empty: not known
  std::string cwd = {};
  // Whether a canonical path can be executed inside; absent: not known.
  std::function<bool(const std::string& path)> is_inside = {};
};

// What a person changes so that it is started. Empty: nothing is known.
std::string cure_for_missing(const AskedCommand& asked);
// `error` of starting the command, with that.
Error with_command_hint(Error error, const AskedCommand& asked);

// The command of a judged run.
AskedCommand asked_command(const JudgedRun& run, const std::vector<std::string>& argv,
                           const std::vector<Ceiling>& ceilings);

}  // namespace cordon
