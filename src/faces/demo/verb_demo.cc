// cordon demo: the acts in their order, until the end or a signal.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text.h"
#include "faces/cli/console.h"
#include "faces/cli/session.h"
#include "faces/cli/verbs.h"
#include "faces/demo/demo_view.h"
#include "faces/demo/scene_view.h"
#include "faces/doctor/doctor_check.h"
#include "faces/mcp/tools/tools.h"
#include "host/resolve.h"

namespace cordon {
namespace {

constexpr int kSignalBase = 128;

struct DemoOptions {
  std::vector<const demo::Act*> acts;
  bool json = false;
  bool config_only = false;
  bool verbose = false;
  bool pause = false;
};

Result<DemoOptions> demo_options(const Arguments& arguments) {
  DemoOptions options;
  options.json = arguments.has(FlagId::Json);
  options.config_only = arguments.has(FlagId::ConfigOnly);
  options.verbose = arguments.has(FlagId::Verbose);
  options.pause = !options.json && !arguments.has(FlagId::NoPause) && ::isatty(STDIN_FILENO) == 1 &&
                  ::isatty(STDOUT_FILENO) == 1;
  if (options.json && options.verbose) {
    return fail(usage_error("--verbose contradicts --json", "drop one of them"));
  }
  const std::vector<std::string_view> wanted = arguments.values(FlagId::Act);
  if (options.config_only && !wanted.empty()) {
    return fail(usage_error("--act contradicts --config-only", "drop one of them"));
  }
  for (const std::string_view number : wanted) {
    const auto known = std::ranges::find_if(
        demo::acts(), [&](const demo::Act& act) { return std::to_string(act.number) == number; });
    if (known == demo::acts().end()) {
      return fail(usage_error("there is no act " + quote(number),
                              "the acts are 1 to " + std::to_string(demo::acts().size())));
    }
  }
  for (const demo::Act& act : demo::acts()) {
    const bool chosen = std::ranges::find(wanted, std::to_string(act.number)) != wanted.end();
    if (wanted.empty() || chosen) options.acts.push_back(&act);
  }
  return options;
}

// Until a line is typed, its end is reached or a signal comes.
void pause_until_enter(int signals) {
  say(tinted(STDERR_FILENO, Tint::Quiet, "\n  Press Enter to go on, Ctrl-C to end. "));
  std::array<pollfd, 2> watched{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{signals, POLLIN, 0}};
  while (::poll(watched.data(), watched.size(), -1) < 0 && errno == EINTR) {
  }
  std::array<char, 256> line{};
  if (watched[1].revents == 0) (void)!::read(STDIN_FILENO, line.data(), line.size());
}

class Demonstration {
 public:
  Demonstration(demo::DemoRunner& runner, const DemoOptions& options, int signals)
      : runner_(runner), options_(options), signals_(signals) {}

  int perform(bool run_code) {
    // With everything the ceiling permits, so that every layer has something to hold.
    const demo::Attempt everything{{"/bin/sh", "-c", ":"}, {"~/Documents"}, {"~/Downloads"}, {}};
    panel_ = {&runner_, runner_.run(everything), run_code};
    if (const auto signal = runner_.interrupted()) return kSignalBase + *signal;
    if (panel_.proof.error) {
      Error error = *panel_.proof.error;
      // Part of a cure would be a line of the demonstration's own ceiling, which goes with it.
      if (error.kind == ErrorKind::Unavailable) {
        error.hint = "the demonstration shows every layer: cordon doctor says what to change";
      }
      say_error(error);
      say("cordon: this host cannot contain a command; cordon doctor says more\n");
      return kAnswerNo;
    }
    if (at_length()) tell(demo_panel_text(panel_));
    if (in_scenes()) tell(scene_opening_text(panel_, scene_width()));
    if (!options_.config_only) {
      for (const demo::Act* act : options_.acts) {
        play(*act);
        if (const auto signal = runner_.interrupted()) return end_early(*signal);
      }
    }
    return conclude();
  }

 private:
  // One of the two, or neither for JSON.
  [[nodiscard]] bool at_length() const {
    return !options_.json && (options_.verbose || options_.config_only);
  }
  [[nodiscard]] bool in_scenes() const { return !options_.json && !at_length(); }

  void tell(std::string_view text) { heard_ = heard_ && say_answer(text); }

  void play(const demo::Act& act) {
    // The opening and the first act share a screen.
    const bool first = played_.empty();
    if (options_.pause && !(first && in_scenes())) pause_until_enter(signals_);
    if (runner_.interrupted()) return;
    if (!options_.json) tell(demo_act_text(act));
    played_.push_back({&act, act.play(runner_)});
    if (options_.json || runner_.interrupted()) return;
    if (in_scenes()) return tell(scene_text(runner_, played_.back(), scene_width()));
    for (const demo::Scenario& scenario : played_.back().scenarios) {
      tell(demo_scenario_text(runner_, scenario));
    }
  }

  static int end_early(int signal) {
    say("\ncordon: ended by " + signal_name(signal) + "; everything made for this is removed\n");
    return kSignalBase + signal;
  }

  int conclude() {
    const DemoScore score = demo_score(played_);
    if (options_.json) {
      tell(demo_json(panel_, played_));
    } else if (!options_.config_only) {
      tell(in_scenes() ? scene_end_text(score) : demo_end_text(score));
    }
    if (!heard_) return kAnswerError;
    return score.behaved == score.total ? kAnswerYes : kAnswerNo;
  }

  demo::DemoRunner& runner_;
  const DemoOptions& options_;
  int signals_;
  DemoPanel panel_;
  std::vector<PlayedAct> played_;
  bool heard_ = true;
};

Result<int> demonstrate(const Arguments& arguments) {
  CORDON_TRY(options, demo_options(arguments));
  CORDON_TRY(caller, identify_caller());
  const Fd signals = watch_signals();
  if (!signals.valid()) return fail(setup_error("cannot watch for signals", errno));
  const bool compare = !options.json && !options.verbose && !options.config_only;
  CORDON_TRY(runner,
             demo::DemoRunner::open(caller, {std::string(kInsideVerb), signals.get(), compare}));
  return Demonstration(runner, options, signals.get())
      .perform(mcp::read_switches(caller.environment).run_code);
}

}  // namespace

int verb_demo(const Arguments& arguments) {
  const auto status = demonstrate(arguments);
  if (status) return *status;
  say_error(status.error());
  return kAnswerError;
}

}  // namespace cordon
