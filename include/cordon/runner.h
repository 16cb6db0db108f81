// Runner: the straight line from a request to an outcome.
//
//   cordon::Runner runner;
//   cordon::Request request;
//   request.argv = {"python3", "-c", "print(1)"};
//   auto report = runner.run(request);
//
// A Runner has no state of its own: many threads may call run() on one, and many runs may be in
// flight in one process. run() blocks until the whole process tree of the command is gone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cordon/backend_kind.h"
#include "cordon/change.h"
#include "cordon/outcome.h"
#include "cordon/policy.h"
#include "cordon/result.h"

namespace cordon {

// Ends a run from another thread; copies refer to one flag.
class Cancel {
 public:
  Cancel();
  void cancel() const;                   // async-signal-safe
  [[nodiscard]] int descriptor() const;  // readable once cancelled

 private:
  struct State;
  std::shared_ptr<State> state_;
};

enum class Stdin { Null, Inherit };
enum class Stdout { Capture, Inherit };

struct Request {
  std::vector<std::string> argv;
  std::optional<Policy> policy;   // absent: the workspace preset
  std::vector<Ceiling> ceilings;  // beside the standard ones, which always count
  std::string cwd;                // where the command starts; empty: the caller's directory
  // A name of BackendKind; empty: CORDON_BACKEND, else the first of native, bwrap and landlock that
  // works on this host and that every ceiling permits.
  std::string backend;
  Stdin in = Stdin::Null;
  Stdout out = Stdout::Capture;
  std::optional<std::string> input;  // bytes for stdin, instead of `in`
  std::optional<Cancel> cancel;
};

// Where a run stands in the audit log.
struct AuditMark {
  std::string event_id;
  std::string outcome;              // "success" or "failure"; empty: the end could not be recorded
  std::optional<Error> unrecorded;  // why, or why not even the beginning is there yet
};

// As whom the command's processes run: inside, and what the kernel makes of that outside.
struct Identity {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t outside_uid = 0;
  std::uint32_t outside_gid = 0;
  bool operator==(const Identity&) const = default;
};

// Everything a caller may want to know about a run, started or not.
struct Report {
  std::string run_id;
  std::optional<Outcome> outcome;  // present exactly if the command was started
  std::optional<Error> error;      // present exactly if it was not
  Enforcement enforcement;
  std::optional<Identity> identity;     // asked of the kernel; absent if nothing ran
  std::optional<BackendChoice> choice;  // absent if the run was refused before one was made
  std::vector<Reduction> reductions;
  std::vector<Change> changes;           // what the run did not write for good
  std::optional<Credential> credential;  // of the agent the run is for
  std::string policy_hash;
  std::string policy_json;             // the effective policy, canonical
  std::vector<std::string> approvals;  // ids of what a person approved and the run makes use of
  std::optional<AuditMark> audit;      // absent if the run was refused for want of a log
  // The published JSON document, cordon.report/1.
  [[nodiscard]] std::string json() const;
};

class Runner {
 public:
  [[nodiscard]] Report run(const Request& request) const;
};

// "0.1.0"
std::string_view version();

}  // namespace cordon
