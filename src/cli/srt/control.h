// Control: settings that arrive on a descriptor while the command runs, one document a line. A line
// holds in full or not at all, and is recorded before it holds.
#pragma once

#include <string>
#include <string_view>

#include "audit/recorder.h"
#include "cli/srt/settings.h"
#include "cli/srt/talk.h"
#include "egress/live_rules.h"
#include "run/supervisor.h"

namespace cordon::srt {

// A descriptor that can be read, by its number.
Result<int> control_descriptor(std::string_view number);

class Control {
 public:
  // All of them outlive the run.
  struct Run {
    const Settings& settings;
    const Caller& caller;
    LiveRules& rules;
    audit::Recorder& recorder;
    const Debug& debug;
  };
  Control(int descriptor, const Run& run);

  // To be attended to while the command runs; refers to this object.
  Errand errand();
  // True if the channel failed before anything came, and the run was ended for it.
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  Errand::Next read_some();
  Errand::Next give_up(int error_number);
  void take_line(std::string_view line);
  Result<void> apply(std::string_view line);

  int descriptor_;
  std::string name_;
  Run run_;
  std::string pending_;
  bool received_ = false;
  bool failed_ = false;
};

}  // namespace cordon::srt
