#include "run/own_git.h"

#include "base/text.h"

namespace cordon {

RunInput own_git_input(const RunInput& outer, const std::string& readable) {
  RunInput input;
  input.policy = *Policy::preset("strict");
  input.policy.fs.read.push_back({readable, {}});
  // Neither the person's settings nor the system's, no replacements, nothing fetched: what is not
  // in the git directory is missing.
  input.policy.env.set = {{"GIT_CONFIG_NOSYSTEM", "1"},
                          {"GIT_CONFIG_GLOBAL", "/dev/null"},
                          {"GIT_NO_LAZY_FETCH", "1"},
                          {"GIT_GRAFT_FILE", "/dev/null"},
                          {"GIT_NO_REPLACE_OBJECTS", "1"},
                          {"GIT_TERMINAL_PROMPT", "0"},
                          {"LC_ALL", "C"}};
  input.ceilings = outer.ceilings;
  input.backends = outer.backends;
  input.recorder = outer.recorder;
  input.signal_descriptor = outer.signal_descriptor;
  input.cancel = outer.cancel;
  input.cwd = "/";
  input.describe_policy = false;
  return input;
}

std::string failure_of_git(const Report& report) {
  if (report.error) return message(*report.error);
  const int status = exit_status(report.outcome->end);
  if (status == 0) return {};
  std::string said = report.outcome->err ? report.outcome->err->text() : std::string();
  said = said.substr(0, said.find('\n'));
  return "git ended with status " + std::to_string(status) + (said.empty() ? "" : ": ") +
         sanitize(said);
}

}  // namespace cordon
