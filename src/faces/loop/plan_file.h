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

// A plan to start from, as `cordon loop --example` prints it.
inline constexpr std::string_view kExamplePlan =
    "# Plan\n"
    "\n"
    "Text outside of features is for people. An agent is given one feature after the other, and "
    "the\n"
    "verify command alone decides whether it is done.\n"
    "\n"
    "- [ ] greet: Write a script that greets\n"
    "  Write greet.sh, a POSIX shell script that prints \"Hello, NAME\" for its first argument.\n"
    "  verify: test \"$(sh greet.sh Ann)\" = \"Hello, Ann\"\n"
    "\n"
    "- [ ] greet-nobody: Greet whoever gives no name\n"
    "  Without an argument greet.sh prints \"Hello, world\".\n"
    "  verify: test \"$(sh greet.sh)\" = \"Hello, world\"\n"
    "  attempts: 2\n"
    "  timeout: 10m\n";

// The two written forms of a plan. Private to read_plan().

Result<Features> read_markdown_plan(std::string_view text, const std::string& name);
Result<Features> read_json_plan(std::string_view text, const std::string& name);

// `name` decides by its suffix, .json or .md, and stands in messages.
Result<Features> read_plan(std::string_view text, const std::string& name);

// The rules that both forms share: ids, duplicates, and that something decides completion.
Result<void> check_plan(const Features& features, const std::string& name);

}  // namespace cordon::loop
