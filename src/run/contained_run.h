// The straight line: request -> resolve -> clamp -> survey -> plan -> note -> launch -> supervise
// -> outcome. Every face goes through here; there is no second way to start a command.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "cordon/runner.h"
#include "host/survey.h"
#include "policy/clamp.h"
#include "policy/host_facts.h"
#include "run/streams.h"

namespace cordon {

struct RunInput {
  std::vector<std::string> argv;
  Policy policy;
  std::vector<Ceiling> ceilings;           // all that count, standard ones included
  std::vector<std::string> trusted_files;  // policy and ceiling files that took part
  std::string cwd;                         // as written; empty: the caller's
  std::string backend;
  StreamRequest streams;
  bool describe_policy = true;  // the report is to carry the effective policy and its hash
  int signal_descriptor = -1;
  std::optional<Cancel> cancel;
};

// A request that was judged. Nothing has been started and nothing has been written.
struct JudgedRun {
  Caller caller;
  Clamped clamped;
  Survey survey;
  Plan plan;
  PlanRequest request;
  std::unique_ptr<Backend> backend;
  std::vector<Reduction> reductions;
};

// Resolve and clamp alone, for the query verbs.
struct Judgement {
  Clamped clamped;
  Survey survey;
};
Result<Judgement> judge_policy(const Policy& policy, const std::vector<Ceiling>& ceilings,
                               const std::vector<std::string>& trusted_files, const Caller& caller);
Result<JudgedRun> judge(const RunInput& input, const Caller& caller);

// Carries out the whole line. The report has an outcome or an error, never both.
Report run_contained(const RunInput& input, const Caller& caller);

// Sixteen random hexadecimal digits.
std::string make_run_id();

}  // namespace cordon
