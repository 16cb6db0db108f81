// Reading a plan: a Markdown checklist, or JSON. Both mean the same; what cannot be understood is
// refused with its place, since an unattended run must not do something else than was written.
//
//   - [ ] parse-flags: Parse the flags
//     What the agent is told, over as many lines as it takes.
//     verify: make test
//     attempts: 3
//     timeout: 20m
//
// A line `prompt: FILE` takes the text from a file of the project instead.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "loop/feature.h"

namespace cordon::loop {

// `name` decides by its suffix, .json or .md, and stands in messages.
Result<Features> read_plan(std::string_view text, const std::string& name);

// The rules that both forms share: ids, duplicates, and that something decides completion.
Result<void> check_plan(const Features& features, const std::string& name);

}  // namespace cordon::loop
