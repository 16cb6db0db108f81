// The command line of SafeClaw's helper: [--policy-file PATH] -- COMMAND [ARG]...
#pragma once

#include <optional>
#include <span>
#include <string>

#include "apply/refusal.h"
#include "base/result.h"

namespace cordon::apply {

enum class Purpose { Run, DryRun };

struct Request {
  std::optional<std::string> policy_file;  // none: descriptor 3
  std::optional<int> status_fd;
  Purpose purpose = Purpose::Run;
  std::span<char* const> command;  // not empty
};

inline constexpr int kPolicyDescriptor = 3;

// `given` without the program's name. Every refusal has the status Usage.
Judged<Request> parse_request(std::span<char* const> given);

}  // namespace cordon::apply
