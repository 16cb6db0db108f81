// Stage: the scratch home, the ceiling in it, and contained runs there, by the same line of calls
// as every other run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cordon/policy.h"
#include "demo/scenario.h"
#include "demo/scratch_home.h"
#include "policy/host_facts.h"
#include "run/contained_run.h"

namespace cordon::demo {

class Stage {
 public:
  struct Options {
    std::string inside_verb;  // makes this program an attempt: INSIDE-VERB ATTEMPT ARG
    int signal_descriptor = -1;
  };
  static Result<Stage> open(const Caller& caller, Options options);

  // After a signal nothing is started any more.
  Report run(const Attempt& attempt);
  // Beside another run, from another thread, until it ends or is cancelled.
  [[nodiscard]] Report run_beside(const Attempt& attempt, const Cancel& cancel) const;
  // The signal that asks for an end, if one came.
  [[nodiscard]] std::optional<int> interrupted();
  // The command that is this program itself, inside.
  [[nodiscard]] std::vector<std::string> own_attempt(std::string what, std::string argument) const;

  using Look = std::function<Sight(const Report&)>;
  // Runs the attempt, then looks. `look` is called only if the command was started.
  Scenario play(std::string title, Attempt attempt, Expected expected, const Look& look);

  [[nodiscard]] const ScratchHome& home() const { return home_; }
  [[nodiscard]] const Caller& caller() const { return caller_; }
  [[nodiscard]] const Ceiling& ceiling() const { return ceiling_; }
  // A path as a person of this home would write it.
  [[nodiscard]] std::string shown(const std::string& path) const;

 private:
  [[nodiscard]] RunInput input_for(const Attempt& attempt) const;
  Stage(ScratchHome home, Caller caller, Ceiling ceiling, Options options);

  ScratchHome home_;
  Caller caller_;
  Ceiling ceiling_;
  Options options_;
  std::optional<int> interrupted_;
};

// Content of a file of the host; empty if it cannot be read.
std::string content_of(const std::string& path);
// True if neither stream of the command holds the text.
bool nothing_leaked(const Report& report, std::string_view secret);
// As designed if the secret is in its place for whoever may see it, and the command did not print
// it.
Sight kept_secret(const Report& report, const std::string& place, std::string_view secret);

}  // namespace cordon::demo
