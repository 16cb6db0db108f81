// Control: settings that arrive on a descriptor while the command runs, one document a line. A line
// holds in full or not at all, and is recorded before it holds.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "audit/recorder.h"
#include "compat/dialect/dialect.h"
#include "cordon/error.h"
#include "egress/rules.h"
#include "policy/host_facts.h"
#include "run/supervisor.h"

namespace cordon::srt {

// How sandbox-runtime's command line speaks: one line for an error, and marked lines for those who
// ask what is done. Programs look for some of its phrases.

inline constexpr int kRefused = 1;

// `Error: what`, notes, then `hint: ...`. The exit status for it.
int refuse(const Error& error);

class Debug {
 public:
  explicit Debug(bool wanted) : wanted_(wanted) {}
  void say(std::string_view line) const;

 private:
  bool wanted_;
};

// The settings of one run: found, read and made a policy.

struct Settings {
  std::string file;  // empty: there is none, and nothing may be written or reached
  Node document;
};

// The file that was named, or the one in the home. A file that is there and cannot be used is an
// error: what holds without one would leave out its rules.
Result<Settings> find_settings(std::optional<std::string_view> named, const Caller& caller);

// The policy they amount to. The file itself is held against the command, wherever it lies.
Result<Imported> policy_of(const Settings& settings, const Caller& caller);

// The network part of other settings that are to take the place of these while a command runs. An
// error names whatever else they would change.
Result<NetRules> network_of(const Node& document, const Settings& running, const std::string& name,
                            const Caller& caller);

// A descriptor that can be read, by its number.
Result<int> control_descriptor(std::string_view number);

// The caller's variables under `cordon srt`. sandbox-runtime passes all of them on; here what loads
// or starts something, what may hold a secret and what leads past the sandbox is left out.

struct Variables {
  std::vector<std::string> passed;
  // Name, and why with what passes it all the same. Those that every sandbox has of its own are in
  // neither list.
  std::vector<std::pair<std::string, std::string>> left_out;
};
Variables variables_of(const Caller& caller);

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
  PollHook poll_hook();
  // True if the channel failed before anything came, and the run was ended for it.
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  PollHook::Next read_some();
  PollHook::Next give_up(int error_number);
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
