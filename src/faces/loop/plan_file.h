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

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cordon::loop {

// Feature: one piece of work in a plan, and what decides that it is done.

struct Feature {
  std::string id;           // unique in its plan
  std::string title;        // one line
  std::string prompt;       // what the agent is told, beyond the title
  std::string prompt_file;  // read instead of `prompt`; relative to the project; empty: none
  std::string verify;       // a shell command; it exits 0 exactly if the feature is done
  std::optional<std::uint64_t> attempts;
  std::optional<std::uint64_t> wall_ms;  // of one attempt
  bool checked = false;                  // marked as done by the author of the plan
  bool operator==(const Feature&) const = default;
};

using Features = std::vector<Feature>;

// The two written forms of a plan. Private to read_plan().

Result<Features> read_markdown_plan(std::string_view text, const std::string& name);
Result<Features> read_json_plan(std::string_view text, const std::string& name);

// `name` decides by its suffix, .json or .md, and stands in messages.
Result<Features> read_plan(std::string_view text, const std::string& name);

// The rules that both forms share: ids, duplicates, and that something decides completion.
Result<void> check_plan(const Features& features, const std::string& name);

}  // namespace cordon::loop
