// What can be asked without starting anything: what is left of a policy under the ceilings, whether
// one access would be allowed and by which rule, which plan a run would carry out. The answers are
// those of `cordon policy clamp`, `cordon policy explain` and `cordon run --dry-run`: the command
// line prints `text` or `json` of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cordon/backend_kind.h"
#include "cordon/loss.h"
#include "cordon/outcome.h"
#include "cordon/policy.h"
#include "cordon/result.h"

namespace cordon {

// What a request comes to under every ceiling that counts.
struct ClampAnswer {
  std::vector<std::string> ceilings;  // where those that counted came from
  Policy policy;                      // what is left, with canonical paths
  std::vector<Reduction> reductions;  // what was taken away, and why
  std::string text;  // the policy as TOML that can be read again; the reductions are comments in it
  std::string json;  // the document cordon.clamp/1
};

// One access that is asked about.
struct Question {
  // What would be done.
  enum class Access { Read, Write, Execute, Connect, Publish, Request };
  Access access = Access::Read;  // what would be done
  // A path for the first three. To connect to: "host:443", "[::1]:8080", or a path with a '/' for a
  // local socket. To publish: a port. To request: "GET https://host/path".
  std::string target;
};
// The word of the command line: "read", "write", "exec", "connect", "publish" or "request".
std::string_view name_of(Question::Access access);
// The access that such a word names; another word is an error with the nearest one.
Result<Question::Access> parse_access(std::string_view word);

// Whether an access would be allowed, and which rule decides. The kernel decides for real.
struct Explanation {
  Question::Access access = Question::Access::Read;  // that was asked about
  std::string target;  // what it was resolved to: the canonical path, or the host and port as asked
  bool allowed = false;  // the answer
  std::string rule;      // that decides, as a person would find it: `write "/home/u/p"`
  std::string reason;    // one clause: why that rule decides
  // What would help, tried before it is told; empty if allowed, and where nothing can grant it.
  std::string change;
  // Whether the call succeeds inside. Also where the answer is no because what is written is held
  // back at the end.
  bool inside = false;
  // What becomes of a write that succeeds inside: "written" to the host; "gone" after the run;
  // "private", kept from run to run; "held" back at the end; "merged", as far as it is harmless;
  // "staged". Empty for everything else.
  std::string then;
  BackendChoice choice;    // what would carry out the run
  std::vector<Loss> lost;  // what that cannot hold on this host
  std::string text;        // for people, a few lines
  std::string json;        // the document cordon.explain/1
};

// What a run of a request would do, step by step. Nothing was started and nothing was written.
struct PlanAnswer {
  BackendChoice choice;               // what would carry out the run
  std::vector<Loss> lost;             // what that cannot hold on this host
  std::vector<Reduction> reductions;  // what was taken away, and why
  std::string text;                   // for people: one operation a line
  std::string json;                   // the document cordon.plan/1
};

}  // namespace cordon
