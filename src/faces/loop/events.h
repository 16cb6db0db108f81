// What happens in a loop, as values. The engine tells them in order; every display shows the same
// ones, and none of them decides anything.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cordon/error.h"
#include "cordon/outcome.h"
#include "cordon/runner.h"
#include "faces/loop/agent.h"
#include "faces/loop/progress.h"

namespace cordon::loop {

struct ProbeStarted {};  // something is really run contained, before any agent is
struct LoopStarted {
  std::string project;
  std::string agent;
  Enforcement enforcement;  // as the probe found it
  std::vector<FeatureProgress> features;
  std::vector<std::string> titles;
  std::optional<Credential> credential;  // of the agent
  std::vector<std::string> warnings;     // what it will miss inside
};
// The verify command runs once before the first attempt of a feature: if it passes already, it says
// nothing about the work of an agent.
struct BaselineStarted {
  std::string id;
  std::string command;
};
struct BaselineEnded {
  std::string id;
  bool passed = false;
  int status = 0;
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
  std::vector<Quarantined> handoff;
};
struct VerifyStarted {
  std::string command;
};
struct VerifyEnded {
  bool accepted = false;
  int status = 0;
  std::string output;      // the end of what it wrote
  bool discarded = false;  // nothing is left of the attempt
  std::string refused;     // why it is not accepted although the command passed; or empty
};
// What is different in the project after an attempt that was not staged.
struct FilesChanged {
  std::size_t changes = 0;
  std::vector<std::string> files;  // the first of them: "added src/x.c"
};
// What became of the stage of an attempt: applied if it was accepted, discarded if not.
struct StageEnded {
  std::string run;  // that `cordon changes` knows it by
  bool applied = false;
  std::size_t changes = 0;             // that were applied, or discarded
  std::vector<std::string> files;      // the first of them: "added src/x.c", below the project
  std::vector<std::string> held;       // protected paths that wait for a person
  std::vector<std::string> conflicts;  // paths that the host has changed too
};
struct Committed {
  bool done = false;
  std::string output;
};
struct FeatureEnded {
  FeatureProgress progress;
};
// Something that the operator has to see to, and that keeps nothing from going on; or what a run
// removed that was kept no longer.
struct Warned {
  std::string text;
  std::string hint;  // or empty
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
    std::variant<ProbeStarted, LoopStarted, BaselineStarted, BaselineEnded, AttemptStarted,
                 AgentTold, AgentNoted, AgentEnded, FilesChanged, VerifyStarted, VerifyEnded,
                 StageEnded, Committed, FeatureEnded, Warned, Paused, Resumed, LoopEnded>;

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

// Control: what a person, or a signal, wants of a running loop. Any thread may ask; the loop's own
// thread looks.

class Control {
 public:
  void pause();
  void resume();
  void skip();  // the feature that is worked on
  void quit();

  // The run that a skip or a quit ends; none while nothing runs. Asked for before it was told, the
  // end comes at once.
  void running(std::optional<Cancel> run);
  [[nodiscard]] bool quitting() const;
  [[nodiscard]] bool paused() const;
  // True once for every skip.
  bool take_skip();
  // Returns when nobody wants a pause any more; `tell` is called if there is one.
  void wait_while_paused(const std::function<void(bool paused)>& tell);

 private:
  void end_run() const;  // with the lock held

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Cancel> run_;
  bool paused_ = false;
  bool skip_ = false;
  bool quit_ = false;
};

}  // namespace cordon::loop
