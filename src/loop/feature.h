// Feature: one piece of work in a plan, and what decides that it is done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cordon::loop {

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

}  // namespace cordon::loop
