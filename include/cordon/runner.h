// Runner: the straight line from a request to an outcome.
//
//   cordon::Runner runner;
//   cordon::Request request;
//   request.argv = {"python3", "-c", "print(1)"};
//   auto report = runner.run(request);
//
// Many threads may use one Runner, and many runs may be in flight in one process. run() blocks
// until the whole process tree of the command is gone. docs/embedding.md has more.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cordon/answers.h"
#include "cordon/backend_kind.h"
#include "cordon/change.h"
#include "cordon/outcome.h"
#include "cordon/policy.h"
#include "cordon/result.h"
#include "cordon/streams.h"

namespace cordon {

// Ends a run from another thread; copies refer to one flag.
class Cancel {
 public:
  Cancel();
  // Cancelled as well when this process ends. Fails if there is none now.
  static Result<Cancel> when_process_ends(std::int64_t pid);
  void cancel() const;                   // async-signal-safe
  [[nodiscard]] int descriptor() const;  // readable once cancelled

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// What is to be run, and under which policy.
struct Request {
  std::vector<std::string> argv;  // looked up on PATH inside, if it has no '/'
  std::optional<Policy> policy;   // absent: the workspace preset
  std::vector<Ceiling> ceilings;  // beside the standard ones, which always count
  std::string cwd;                // where the command starts; empty: the caller's directory
  // A name of BackendKind; empty: CORDON_BACKEND, else the first of native, bwrap and landlock that
  // works on this host and that every ceiling permits.
  std::string backend;
  Input in;                      // what the command reads; nothing, if it is not said
  Output out;                    // where its output goes; into the report, if it is not said
  std::optional<Cancel> cancel;  // ends the run when it is cancelled
};

// Where a run stands in the audit log.
struct AuditMark {
  std::string event_id;             // of its record
  std::string outcome;              // "success" or "failure"; empty: the end could not be recorded
  std::optional<Error> unrecorded;  // why, or why not even the beginning is there yet
  std::optional<Error> unkept;      // the log could not be signed or pruned; its records are there
};

// As whom the command's processes run: inside, and what the kernel makes of that outside.
struct Identity {
  std::uint32_t uid = 0;          // inside
  std::uint32_t gid = 0;          // inside
  std::uint32_t outside_uid = 0;  // as the host sees it
  std::uint32_t outside_gid = 0;  // as the host sees it
  bool operator==(const Identity&) const = default;
};

// The layer that a staged run wrote into.
struct StageUse {
  std::string from;         // the run whose stage it went on from; empty: none
  std::uint64_t bytes = 0;  // on the disk when the run was over
  bool operator==(const StageUse&) const = default;
};

// The session that a command ran in.
struct SessionMark {
  // What the kernel tells its processes from others by: a user id of its own, or namespaces alone.
  enum class Principal { Uid, Namespace };
  std::string id;                              // sixteen hexadecimal digits
  std::string agent;                           // who works in it; may be empty
  std::string conversation;                    // likewise
  Principal principal = Principal::Namespace;  // what its processes are told by
  std::uint32_t uid = 0;                       // as the host sees them
  bool operator==(const SessionMark&) const = default;
};

// Everything a caller may want to know about a run, started or not.
struct Report {
  std::string run_id;                    // sixteen hexadecimal digits
  std::optional<Outcome> outcome;        // present exactly if the command was started
  std::optional<Error> error;            // present exactly if it was not
  Enforcement enforcement;               // what was read back before the command started
  std::optional<Identity> identity;      // asked of the kernel; absent if nothing ran
  std::optional<BackendChoice> choice;   // absent if the run was refused before one was made
  std::vector<Reduction> reductions;     // what the policy asked for and did not get
  std::vector<Change> changes;           // what the run did not write for good
  std::optional<StageUse> stage;         // absent of a run that was not staged
  std::optional<SessionMark> session;    // absent of a run of its own
  std::optional<Credential> credential;  // of the agent the run is for
  std::string policy_hash;               // of `policy_json`: "sha256:…"
  std::string policy_json;               // the effective policy, canonical
  std::vector<std::string> approvals;    // ids of what a person approved and the run makes use of
  std::optional<AuditMark> audit;        // absent if the run was refused for want of a log
  // The published JSON document, cordon.report/1.
  [[nodiscard]] std::string json() const;
};

class Session;
struct SessionTerms;

// The calls of the library. A request is bounded by the standard ceilings, by $CORDON_CEILING and
// by its own, whichever call it is given to.
class Runner {
 public:
  // Reads anew for every call who calls (user, directory, environment) and what the standard
  // ceilings say.
  Runner() = default;
  // Reads both once, now. What the operator changes in a ceiling afterwards, and a change of this
  // process's directory or environment, does not count for this Runner: for a program that makes
  // many runs in a short time, or has threads that change its environment.
  static Result<Runner> reading_once();

  // Runs it. The report has an outcome or an error, never both.
  [[nodiscard]] Report run(const Request& request) const;
  // Opens a session (cordon/session.h) as it would run `request`, of which command and streams do
  // not count. Needs the program cordon-inside, and a host that permits namespaces.
  [[nodiscard]] Result<Session> open_session(const Request& request,
                                             const SessionTerms& terms) const;
  // What is left of its policy under the ceilings. Only the policy and the ceilings of the request
  // count. What would refuse a run is an error here too.
  [[nodiscard]] Result<ClampAnswer> clamp(const Request& request) const;
  // Whether a run of it would be allowed one access, and why. No command is needed.
  [[nodiscard]] Result<Explanation> explain(const Request& request, const Question& question) const;
  // What a run of it would do. A program that is not there inside is not noticed.
  [[nodiscard]] Result<PlanAnswer> plan(const Request& request) const;

 private:
  struct Surroundings;
  [[nodiscard]] Result<std::shared_ptr<const Surroundings>> surroundings() const;
  std::shared_ptr<const Surroundings> read_once_;  // absent: read anew
};

// "0.1.0"
std::string_view version();

}  // namespace cordon
