// What the helper is asked: its command line, the policy it is given, and how it refuses.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>

#include "base/result.h"
#include "compat/safeclaw/safeclaw_policy.h"

namespace cordon::apply {

// Why a command was not started, in the exit statuses of SafeClaw's helper.

enum class Status {
  Usage = 1,
  Policy = 70,        // the document, or what it asks for cannot be held
  Landlock = 71,      // the layer of files
  Seccomp = 72,       // the layer of system calls, or a name that is none
  Capabilities = 73,  // they could not be dropped
  Execute = 74,       // the command could not be executed
  Permission = 75,    // the policy file is not the caller's alone; no_new_privs
  Identity = 76,      // started with another identity than the caller's
};

struct Refusal {
  Status status;
  std::string text;  // one line
};

template <typename T>
using Judged = tl::expected<T, Refusal>;

inline tl::unexpected<Refusal> refuse(Status status, std::string text) {
  return tl::unexpected<Refusal>(Refusal{status, std::move(text)});
}
// "text: No such file or directory"
Refusal with_errno(Status status, std::string text, int error);

// The command line of SafeClaw's helper: [--policy-file PATH] -- COMMAND [ARG]...

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

// The policy: where it is read from, and its strict reading. Nothing is looked up twice: what was
// opened is what is judged.

inline constexpr std::size_t kLongestPolicy = std::size_t{64} * 1024;

// The file must be a regular one, not reached through a link of that name, the caller's own and of
// mode 0600 exactly: anybody else who may write it would set the boundary.
Judged<std::string> read_policy_file(const std::string& path);
// To the end of file; the descriptor is closed.
Judged<std::string> read_policy_descriptor(int descriptor);

// Bounds and strictness as decode_safeclaw says; every refusal of the document has the status
// Policy.
Judged<SafeClawPolicy> parse_policy(const std::string& text, const std::string& name);

}  // namespace cordon::apply
