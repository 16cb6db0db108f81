// Judging a request: resolve -> clamp -> survey -> choose -> plan. It looks at the host and starts,
// writes and removes nothing, so that the queries of the command line stop here.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "audit/recorder.h"
#include "cordon/runner.h"
#include "egress/rules.h"
#include "host/owner.h"
#include "host/survey.h"
#include "policy/clamp.h"
#include "policy/host_facts.h"
#include "run/choose.h"
#include "run/streams.h"
#include "run/supervisor.h"
#include "sandbox/backend.h"

namespace cordon {

class Prepared;
struct JudgedRun;

// A run that further commands are started in while it goes on (run/open_session.h). Called by the
// thread that carries out the line.
class SessionRun {
 public:
  virtual ~SessionRun() = default;
  // The sandbox stands, and its spawner takes commands. What is given here stays as it is until
  // closing() has returned.
  virtual void opened(const JudgedRun& run, Prepared& prepared, const Launched& launched,
                      const Report& report) = 0;
  // Every process of it is about to be killed: a command that ends from now on may be among them.
  virtual void ending() = 0;
  // Its last process has ended, and what was written is about to be looked at.
  virtual void closing() = 0;
  // Takes the place of the limit of the wall clock, which is that of each command.
  [[nodiscard]] virtual std::optional<std::uint64_t> lifetime_ms() const = 0;
};

// Who asked, as the audit log has it.
struct Asker {
  std::string tool;  // of the MCP server; empty: the command line or the library
  std::string tool_call_id;
  std::string path;  // what a file tool works on, canonical
  // "session", "exec", or one of audit::kOwnActions; empty: the tool, or "run".
  std::string action;
  // The session that it happens in, and whom that was started for; empty: none.
  std::string session;
  std::string agent;
  std::string conversation;
};

// The stage of an earlier run that a run begins with.
struct StageBase {
  enum class How { Continue, Fork };
  How how = How::Continue;
  std::string run;  // its id, or "last"
};

// Who decides about the changes of a staged run when it is over.
enum class StageDecision {
  ByPolicy,  // what `fs.stage` says
  ByCaller,  // the program that asked for the run: it applies or discards them
  ByPerson,  // cordon changes alone; the caller goes on in the stage
};

// What hints are found by. Whoever is contained must not learn from them what exists outside, so
// that only who may see it gets them from the host.
enum class HintsFrom { Policy, Host };

struct RunInput {
  std::string run_id;  // empty: a new one
  std::vector<std::string> argv;
  Policy policy;
  std::vector<Ceiling> ceilings;   // all that count, standard ones included
  std::vector<Approval> approved;  // by a person, beyond them
  // Both, as a caller who asks several questions has looked them up; absent: they are looked up
  // here.
  std::optional<std::vector<ResolvedCeiling>> resolved_ceilings;
  std::string cwd;                      // as written; empty: the caller's
  std::optional<StageBase> stage_base;  // of a run that is staged; absent: the project alone
  StageDecision stage_decision = StageDecision::ByPolicy;
  std::optional<BackendKind> backend;      // absent: CORDON_BACKEND, or the first that works
  ChosenBy backend_by = ChosenBy::Option;  // who named it
  MakeBackend backends;                    // absent: Cordon's own three
  StreamRequest streams;
  // A program of Cordon's own that the command is: readable inside whatever the ceilings say, as
  // the loader's baseline is. Canonical; empty: none.
  std::string helper;
  bool describe_policy = true;  // the report is to carry the effective policy
  HintsFrom hints = HintsFrom::Policy;
  bool cures = false;  // what the broker refused is told with the option that permits it
  bool why = false;  // every path that the command asks for is looked at, and what is refused told
  Asker asker;
  audit::Recorder* recorder = nullptr;  // a long-lived caller's; absent: one for this run alone
  // Of a run that goes on while ceilings may change: read anew for every connection.
  std::function<Result<std::vector<Ceiling>>()> ceilings_now;
  SessionRun* session = nullptr;  // absent: one command alone
  int signal_descriptor = -1;
  std::optional<Cancel> cancel;
  std::optional<Cancel> terminate;  // asks the command to end, as a signal to Cordon would
  // What network mode allow is judged by, for a caller who replaces the rules during the run. They
  // become those of the clamped policy when the run begins; whoever replaces them clamps as well.
  std::shared_ptr<LiveRules> live_rules;
  std::optional<PollHook> poll_hook;
  // Told once, before anything is started, if native does not carry out the run or the run goes
  // without something.
  std::function<void(const std::string& line)> tell_choice;
  // Told once, when the command was let go.
  std::function<void()> tell_started;
  // Every now and then while a stage that is a copy is made; nothing at its end.
  std::function<void(std::optional<std::uint64_t> copied)> tell_copying;
  // Told once, while the command runs: a directory that cannot be renamed in a stage.
  std::function<void(const Denial& first)> tell_rename;
};

// A request that was judged. Nothing has been started and nothing has been written.
struct JudgedRun {
  Caller caller;
  Clamped clamped;
  Survey survey;
  Plan plan;
  PlanRequest request;
  std::unique_ptr<Backend> backend;
  BackendChoice choice;
  std::vector<Reduction> reductions;
  std::optional<Owner> owner;           // whom a command of root's runs as
  std::optional<StageBase> stage_base;  // with the id of the run
  StageDecision stage_decision = StageDecision::ByPolicy;
};

// Whether its writable grants are overlays: what it writes is on the host only once it is applied.
inline bool is_staged(const JudgedRun& run) { return !run.request.stage_directory.empty(); }

// Resolve, clamp and survey alone, for the query verbs. What would refuse a run is an error here
// too.
struct Judgement {
  Clamped clamped;
  Survey survey;
};
struct JudgedPlaces {
  std::string helper;                   // RunInput::helper
  std::optional<std::string> start;     // canonical; absent: the caller's directory
  Keep keep = Keep::Something;          // how much of that has to be left
  std::vector<Approval> approved = {};  // RunInput::approved
  std::optional<std::vector<ResolvedCeiling>> ceilings = {};  // RunInput::resolved_ceilings
  // A question about these paths alone (survey_ways); absent: a run is to be started.
  std::optional<std::vector<std::string>> asked = {};
};
Result<Judgement> judge_policy(const Policy& policy, const std::vector<Ceiling>& ceilings,
                               const Caller& caller, const JudgedPlaces& places = {});
Result<JudgedRun> judge(const RunInput& input, const Caller& caller,
                        Foresight foresight = Foresight::AskHost);
// The same judgement for a question about `paths` (canonical): no tree is walked for it. What it
// gives is never started.
Result<JudgedRun> judge_question(const RunInput& input, const Caller& caller,
                                 std::optional<std::vector<std::string>> paths);
// Tells what is to be known of a judged run before anything of it happens.
void describe(const RunInput& input, const JudgedRun& run, Report& report);

}  // namespace cordon
