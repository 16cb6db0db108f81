// What happens in a loop, as values. The engine tells them in order; every display shows the same
// ones, and none of them decides anything.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cordon/error.h"
#include "cordon/outcome.h"
#include "loop/agent_stream.h"
#include "loop/progress.h"

namespace cordon::loop {

struct ProbeStarted {};  // something is really run contained, before any agent is
struct LoopStarted {
  std::string project;
  std::string agent;
  Enforcement enforcement;  // as the probe found it
  std::vector<FeatureProgress> features;
  std::vector<std::string> titles;
  std::optional<Credential> credential;  // of the agent
};
struct AttemptStarted {
  std::string id;
  std::string title;
  std::uint64_t attempt = 0;
  std::uint64_t most = 0;
};
struct AgentTold {
  AgentEvent event;
};
struct AgentNoted {  // a line of its standard error
  std::string line;
};
struct AgentEnded {
  End end;
  std::uint64_t duration_ms = 0;
  std::vector<Denial> denials;
  std::vector<Handoff> handoff;
};
struct VerifyStarted {
  std::string command;
};
struct VerifyEnded {
  bool accepted = false;
  int status = 0;
  std::string output;  // the end of what it wrote
};
struct Committed {
  bool done = false;
  std::string output;
};
struct FeatureEnded {
  FeatureProgress progress;
};
struct Paused {};
struct Resumed {};
// The loop is over, and nothing further is started.
struct LoopEnded {
  enum class Why {
    Complete,     // every feature is done
    Incomplete,   // some are not, or a budget is used up
    Stopped,      // by a person or a signal
    Uncontained,  // containment is in doubt: `error`
    Failed,       // something else of Cordon's own: `error`
  };
  Why why = Why::Incomplete;
  std::string reason;
  std::optional<Error> error;
  std::vector<FeatureProgress> features;
};

using LoopEvent =
    std::variant<ProbeStarted, LoopStarted, AttemptStarted, AgentTold, AgentNoted, AgentEnded,
                 VerifyStarted, VerifyEnded, Committed, FeatureEnded, Paused, Resumed, LoopEnded>;

class Display {
 public:
  Display() = default;
  Display(const Display&) = delete;
  Display& operator=(const Display&) = delete;
  virtual ~Display() = default;
  // Called from one thread at a time, the one the loop runs on.
  virtual void show(const LoopEvent& event) = 0;
};

std::string_view name_of(LoopEnded::Why why);
// 0, 1 (incomplete), 130 (stopped), 125 (uncontained), or the error's own.
int exit_status(const LoopEnded& end);

}  // namespace cordon::loop
