// OpenSession: a living sandbox that commands are started in one after the other, or side by side.
//
// A session is one run of the line (run/line.h) whose command is Cordon's own spawner
// (sandbox/session/spawner.h). It is judged, recorded, built, verified, supervised and settled as
// every run is; a thread of its own carries that out. Each command that is started in it goes
// through a short line of its own:
//
//   check      the session lives, and the ceilings permit what they permitted when it began
//   record     that this command is about to run, durably
//   start      the spawner starts it: under everything that holds the spawner
//   supervise  its own time and output limits, its own streams (`supervise`)
//   search     protected files that appeared are moved away, as after a run
//   close      the record
//
// What is the session's and not the command's: memory, processes, processor and scratch limits, the
// network rules, private home and /tmp, private copies of held files, the stage. What the session
// keeps apart is settled when it ends.
//
// Between two commands, and while one runs in the background, a protected file that appeared stays
// until the next search. docs/threat-model.md names that window.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cordon/session.h"
#include "run/line.h"
#include "run/prepare.h"
#include "run/run_record.h"

namespace cordon {

// One command in a session.
struct ExecInput {
  std::vector<std::string> argv;
  std::string cwd;                       // as written; empty: where the session started
  std::vector<std::string> environment;  // NAME=VALUE, beside the session's own
  StreamRequest streams;
  std::optional<std::uint64_t> keep;     // bytes kept per captured stream; absent: the policy's
  std::optional<std::uint64_t> wall_ms;  // beside the policy's; the smaller one counts
  int signal_descriptor = -1;            // as SuperviseRequest has it
  std::optional<Cancel> cancel;
  std::optional<Cancel> terminate;
  Asker asker;
  bool describe_policy = true;         // the report is to carry the effective policy
  std::function<void()> tell_started;  // as RunInput has it
};

class OpenSession final : private SessionRun {
 public:
  // Returns when the sandbox stands, or with why it does not. Of `input` command, streams, helper
  // and hook are replaced.
  static Result<std::unique_ptr<OpenSession>> open(RunInput input, Caller caller,
                                                   SessionTerms terms);
  // Ends it.
  ~OpenSession() override;
  OpenSession(const OpenSession&) = delete;
  OpenSession& operator=(const OpenSession&) = delete;

  [[nodiscard]] const std::string& id() const { return input_.run_id; }
  [[nodiscard]] const SessionTerms& terms() const { return terms_; }
  [[nodiscard]] BackendKind backend() const { return backend_; }

  // From any thread. The report has an outcome or an error, never both.
  Report exec(const ExecInput& asked);

  // Ends every process and waits until all is settled and recorded.
  void stop();
  // The same without waiting.
  void ask_to_end() {
    stopped_ = true;
    end_.cancel();
  }
  // True from when it begins to end.
  [[nodiscard]] bool is_over() const;
  // What its writes are staged by; nothing if they are not, or it is over.
  [[nodiscard]] std::optional<StageRecord> stage_record() const;
  // Readable once it is over, for whatever reason.
  [[nodiscard]] int over_descriptor() const { return over_.descriptor(); }
  // Once it is over: the report of the whole session. Waits for that.
  const Report& report();

 private:
  OpenSession(RunInput input, Caller caller, SessionTerms terms);

  void opened(const JudgedRun& run, Prepared& prepared, const Launched& launched,
              const Report& report) override;
  void ending() override { ending_ = true; }
  void closing() override;
  [[nodiscard]] std::optional<std::uint64_t> lifetime_ms() const override {
    return terms_.lifetime_ms;
  }

  Result<void> begin();
  void attribute(Asker& asker) const;
  void carry_out();
  // Between these two nothing of the run goes away.
  bool enter();
  void leave();
  // Those of now, with what is signed for the session's agent.
  [[nodiscard]] Result<std::vector<Ceiling>> ceilings_now() const;
  [[nodiscard]] Result<void> check_ceilings() const;
  Report carry_out_command(const ExecInput& asked);
  void search_after(Outcome& outcome, Report& report) const;
  Result<void> exec_recorded(const ExecInput& asked, RunRecord& record, Report& report);
  PollHook::Next end_if_idle();

  RunInput input_;
  Caller caller_;
  SessionTerms terms_;
  std::vector<Ceiling> given_;  // ceilings, without what is signed for the agent
  Cancel end_;                  // ends the run
  Cancel over_;                 // told when it has ended
  Fd spawner_;
  std::atomic<bool> stopped_ = false;  // somebody asked it to end
  std::atomic<bool> ending_ = false;   // set before the first process is killed
  Fd idle_timer_;
  std::optional<Report> report_;
  std::thread thread_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  enum class State { Starting, Open, Closing, Over };
  State state_ = State::Starting;
  std::size_t active_ = 0;         // commands that run now
  std::uint64_t last_end_ms_ = 0;  // of a command, or the start
  // Of the run, while it is open.
  const JudgedRun* run_ = nullptr;
  Prepared* prepared_ = nullptr;
  Enforcement enforcement_;
  std::optional<Identity> identity_;
  std::string policy_hash_;
  std::string policy_json_;
  pid_t init_ = -1;
  BackendKind backend_ = BackendKind::Native;
  std::mutex search_mutex_;
};

}  // namespace cordon
