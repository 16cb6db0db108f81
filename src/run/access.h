// What a judged run lets its command do with one path. The plan that would be carried out is asked
// first (plan/view.h), then the host's own rights; policy/decide.h says by which rule it is so.
// Where the rule and the plan differ, the plan is right.
#pragma once

#include <string>

#include "policy/decide.h"
#include "run/judge.h"

namespace cordon {

// What settles an answer.
enum class Settled {
  Yes,
  Policy,  // no grant, a read-only one, or a place of the sandbox's own
  Mask,    // a deny, a credential, or Cordon's own files
  Held,    // written inside, and held back at the end
  Absent,  // it would be permitted, and there is nothing
  Rights,  // it is granted, and its owner or its mode does not let the command
  Kernel,  // it is granted, and the kind of the object or its file system does not let anybody
};

struct AccessAnswer {
  Verdict verdict;
  Settled by = Settled::Policy;
  bool inside = false;    // the call succeeds inside, whatever becomes of it
  std::string_view then;  // of a write that does: "written", "gone", "private", "held", "merged",
                          // "staged"
};

// `path` is canonical, or of the sandbox. What is to be changed is told only where the host's own
// rights decide; the rest is found by trying (run/advice.h).
Result<AccessAnswer> access_to(const JudgedRun& run, Access access, const std::string& path);

}  // namespace cordon
