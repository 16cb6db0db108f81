// Advice: what to change so that an access is permitted. Nothing is advised that was not tried: the
// change is made to a copy of the request and of the ceilings, the copy is judged as a run would
// be, and the first change after which the answer is yes is told. Changes are tried from the
// smallest on: an option; the line of a ceiling; a deny that is taken out; and what has to go
// together. If none helps, nothing can grant the access, and that is told instead.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "run/access.h"

namespace cordon {

struct AskedPath {
  Access access = Access::Read;
  std::string path;  // canonical, or of the sandbox
  FileKind kind = FileKind::Absent;
  // What has to be looked at to judge it; absent: everything (JudgedPlaces::asked).
  std::optional<std::vector<std::string>> ways;
};

// Completes an answer that is no: what to change, which ceiling decides, or that nothing helps
// (Verdict::change is empty then).
Result<void> advise(const RunInput& input, const Caller& caller, const AskedPath& asked,
                    AccessAnswer& answer);

}  // namespace cordon
