// cordon loop: from a command line to an agent that works through a plan.
#include <fcntl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <functional>
#include <thread>

#include "audit/log.h"
#include "base/path.h"
#include "base/sha256.h"
#include "base/text.h"
#include "faces/cli/console.h"
#include "faces/cli/policy_options.h"
#include "faces/cli/verbs.h"
#include "faces/loop/displays.h"
#include "faces/loop/engine.h"
#include "faces/loop/plan_file.h"
#include "faces/loop/screen/screen.h"
#include "host/host_settings.h"
#include "host/inspect.h"
#include "host/resolve.h"
#include "run/run_record.h"

namespace cordon {
namespace {

constexpr std::size_t kLargestText = std::size_t{1024} * 1024;

// A file of the project, read before any agent may have changed it.
Result<std::string> read_project_file(const std::string& written, const Caller& caller,
                                      std::vector<std::string>& held) {
  CORDON_TRY(place, canonicalize_existing(written, caller.cwd, caller));
  if (place.kind != FileKind::Regular) {
    return fail(usage_error(quote(written) + " is not a regular file",
                            "name a text file; cordon loop --example writes a plan"));
  }
  const Fd file = open_canonical(place.path, O_RDONLY | O_NONBLOCK);
  const auto text = file.valid() ? read_all(file.get(), kLargestText) : std::nullopt;
  if (!text) {
    return fail(setup_error("cannot read " + quote(written), errno,
                            errno == EACCES ? "chmod u+r " + shell_word(written)
                                            : "name a text file of at most 1 MiB"));
  }
  held.push_back(place.path);
  return *text;
}

Result<void> look_for_plan(const std::string& plan, const Caller& caller) {
  const std::string path = plan.starts_with('/') ? plan : join(caller.cwd, plan);
  if (plan.starts_with('~') || inspect_path(path)) return {};
  return fail(usage_error("there is no plan " + quote(plan) + " in " + quote(caller.cwd),
                          "cordon loop --example > " +
                              (plan.ends_with(".md") ? shell_word(plan) : "PLAN.md") +
                              " writes one to start from"));
}

Result<void> read_prompts(loop::Features& features, const Caller& caller,
                          std::vector<std::string>& held) {
  for (loop::Feature& feature : features) {
    if (feature.prompt_file.empty()) continue;
    const std::string& written = feature.prompt_file;
    if (written.starts_with('/') || written.starts_with('~') || has_dotdot(written)) {
      return fail(policy_error("the prompt " + quote(written) + " of " + quote(feature.id) +
                                   " does not lie in the project",
                               "name a file below the project directory"));
    }
    CORDON_TRY(text, read_project_file("./" + written, caller, held));
    if (!contains(caller.cwd, held.back())) {
      return fail(policy_error("the prompt " + quote(written) + " leads out of the project"));
    }
    feature.prompt = std::move(text);
  }
  return {};
}

Result<std::optional<std::uint64_t>> number(const Arguments& arguments, FlagId id,
                                            std::string_view option, std::string_view example,
                                            std::uint64_t unit = 1) {
  const auto value = arguments.value(id);
  if (!value) return std::nullopt;
  constexpr std::uint64_t kMost = 1'000'000'000'000;
  const auto parsed = parse_number(*value);
  if (!parsed || *parsed == 0 || *parsed > kMost / unit) {
    return fail(usage_error(std::string(option) + " " + quote(*value) +
                                " is not a whole number from 1 to " + std::to_string(kMost / unit),
                            "write " + std::string(option) + " " + std::string(example)));
  }
  return *parsed * unit;
}

Result<loop::Budget> budget_of(const Arguments& arguments) {
  constexpr std::uint64_t kMicro = 1'000'000;
  loop::Budget budget;
  CORDON_TRY(attempts, number(arguments, FlagId::Attempts, "--attempts", "3"));
  CORDON_TRY(tokens, number(arguments, FlagId::Tokens, "--tokens", "500000"));
  CORDON_TRY(cost, number(arguments, FlagId::Cost, "--cost", "5, in whole dollars", kMicro));
  if (attempts) budget.attempts = *attempts;
  budget.tokens = tokens;
  budget.micro_dollars = cost;
  if (const auto total = arguments.value(FlagId::Total)) {
    budget.wall_ms = parse_duration(*total);
    if (!budget.wall_ms) {
      return fail(usage_error("--total " + quote(*total) + " is not a duration",
                              "write --total 30m or --total 8h"));
    }
  }
  return budget;
}

// An agent that cannot write its project would use up every attempt for nothing.
Result<void> check_project(const AskedPolicy& asked, const Caller& caller) {
  CORDON_CHECK(judge_policy(asked.policy, asked.ceilings, caller,
                            {.helper = {}, .start = {}, .keep = Keep::Writable}));
  return {};
}

Result<loop::LoopInput> loop_input(const Arguments& arguments, const Caller& caller) {
  loop::LoopInput input;
  input.caller = caller;
  std::vector<std::string> words;
  for (const std::string_view word : arguments.operands) words.emplace_back(word);
  CORDON_TRY(agent, loop::contained_agent(words));
  if (arguments.value(FlagId::Stage) == "review") {
    return fail(usage_error("--stage=review: in a loop the verify command decides what is applied",
                            "write --stage alone"));
  }
  CORDON_TRY(budget, budget_of(arguments));
  CORDON_CHECK(refuse_nesting(caller));
  const std::string plan(arguments.value(FlagId::Plan).value_or("PLAN.md"));
  CORDON_CHECK(look_for_plan(plan, caller));
  CORDON_TRY(text, read_project_file(plan, caller, input.held_files));
  CORDON_TRY(features, loop::read_plan(text, plan));
  input.features = std::move(features);
  CORDON_CHECK(read_prompts(input.features, caller, input.held_files));
  CORDON_TRY(asked, asked_policy(arguments, caller, agent.preset));
  if (auto checked = check_project(asked, caller); !checked) {
    RunInput refused;
    refused.argv = words;
    refused.asker.tool = "loop_agent";
    (void)record_refusal(refused, caller, checked.error());
    return fail(std::move(checked).error());
  }
  input.policy = std::move(asked.policy);
  for (const std::string_view file : arguments.values(FlagId::Ceiling)) {
    input.ceiling_files.emplace_back(file);
  }
  input.agent = std::move(agent);
  input.budget = budget;
  input.commit = arguments.has(FlagId::Commit);
  input.why = arguments.has(FlagId::Why);
  CORDON_TRY(backend, asked_backend(arguments));
  input.backend = backend;
  return input;
}

// Where this project's progress is kept.
std::string state_of(const Caller& caller) {
  constexpr std::size_t kDigits = 16;
  return join(caller.state_directory, "loop/" + sha256_hex(caller.cwd).substr(0, kDigits));
}

Result<loop::Progress> progress_for(const loop::LoopInput& input, const loop::ProgressFile& file,
                                    bool restart) {
  const std::string hash = loop::hash_of(input.features);
  const loop::Progress fresh = loop::fresh_progress(input.features, hash);
  if (restart) return fresh;
  CORDON_TRY(found, file.read());
  if (!found) return fresh;
  if (found->plan_hash != hash || found->features.size() != input.features.size()) {
    return fail(usage_error("the plan is not the one that was begun in this project",
                            "--restart begins anew; or put the old plan back"));
  }
  return *std::move(found);
}

// Turns INT, TERM, HUP and QUIT into the wish to end, on a thread of its own.
class SignalWatch {
 public:
  explicit SignalWatch(std::function<void()> end) : end_(std::move(end)) {
    sigset_t watched;
    ::sigemptyset(&watched);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaddset(&watched, signal);
    ::sigaddset(&watched, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &watched, nullptr);
    thread_ = std::thread([this, watched] {
      int signal = 0;
      while (::sigwait(&watched, &signal) == 0 && !done_) end_();
    });
  }
  ~SignalWatch() {
    done_ = true;
    ::pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  const std::function<void()> end_;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

// Lines on standard output. When they no longer arrive that is said once, and the work goes on: its
// progress is kept elsewhere.
class Lines {
 public:
  void write(std::string_view line) { arrived_ = arrived_ && say_answer(std::string(line) + "\n"); }
  [[nodiscard]] bool arrived() const { return arrived_; }

 private:
  bool arrived_ = true;
};

loop::LoopEnded run_with_lines(loop::LoopInput input, loop::Progress progress,
                               const loop::ProgressFile& file, audit::Recorder& recorder,
                               Lines& lines, bool json) {
  std::unique_ptr<loop::Display> display;
  const auto write_line = [&](std::string_view line) { lines.write(line); };
  if (json) {
    display = std::make_unique<loop::JsonDisplay>(write_line);
  } else {
    display = std::make_unique<loop::PlainDisplay>(write_line);
  }
  loop::Control control;
  input.tell_choice = say_choice;
  const SignalWatch signals([&] { control.quit(); });
  return loop::Engine(std::move(input), file, recorder, *display, control).run(std::move(progress));
}

// The loop works on a thread of its own; this one paints.
Result<loop::LoopEnded> run_with_screen(loop::LoopInput input, loop::Progress progress,
                                        const loop::ProgressFile& file, audit::Recorder& recorder,
                                        Lines& lines) {
  loop::Control control;
  CORDON_TRY(screen, loop::Screen::open(control));
  loop::LoopEnded end;
  // Standard error is the screen's until it is left; the screen itself names the backend.
  std::vector<std::string> choices;
  input.tell_choice = [&choices](const std::string& line) { choices.push_back(line); };
  {
    const SignalWatch signals([&] {
      control.quit();
      screen->leave_at_end();
    });
    loop::Engine engine(std::move(input), file, recorder, *screen, control);
    std::thread worker([&] {
      // The painting thread hears of a window's new size; a run is not to be interrupted by it.
      sigset_t resized;
      ::sigemptyset(&resized);
      ::sigaddset(&resized, SIGWINCH);
      ::pthread_sigmask(SIG_BLOCK, &resized, nullptr);
      end = engine.run(std::move(progress));
    });
    screen->run();
    worker.join();
  }
  for (const std::string& line : choices) say_choice(line);
  lines.write(loop::end_line(end));
  return end;
}

Result<int> start(const Arguments& arguments) {
  CORDON_TRY(caller, identify_caller());
  CORDON_TRY(input, loop_input(arguments, caller));
  CORDON_TRY(file, loop::ProgressFile::open(state_of(caller)));
  CORDON_TRY(progress, progress_for(input, file, arguments.has(FlagId::Restart)));
  audit::Recorder recorder(audit::place_of(caller), AuditChoice{});
  const bool json = arguments.has(FlagId::Json);
  Lines lines;
  loop::LoopEnded end;
  if (json || arguments.has(FlagId::Plain) || !loop::can_paint()) {
    end = run_with_lines(std::move(input), std::move(progress), file, recorder, lines, json);
  } else {
    CORDON_TRY(painted,
               run_with_screen(std::move(input), std::move(progress), file, recorder, lines));
    end = std::move(painted);
  }
  if (end.error && !end.error->hint.empty()) say("hint: " + sanitize(end.error->hint) + "\n");
  const int status = loop::exit_status(end);
  return status == 0 && !lines.arrived() ? kAnswerError : status;
}

}  // namespace

int verb_loop(const Arguments& arguments) {
  if (arguments.has(FlagId::Example)) return say_answer(loop::kExamplePlan) ? 0 : kAnswerError;
  const auto status = start(arguments);
  if (status) return *status;
  say_error(status.error());
  return status.error().exit_status;
}

}  // namespace cordon
