// `cordon apply`: SafeClaw's helper. Reads a policy, puts its layers on this process and becomes
// the command. It is the inner layer: what Landlock cannot hold is refused or an outer layer's.
#pragma once

#include <span>
#include <string_view>

#include "compat/safeclaw/apply/prepare.h"
#include "sandbox/native/seccomp_filter.h"

namespace cordon::apply {

// How a refusal is told: one line for people on standard error, one of JSON on the status
// descriptor. No line there and its end means that the command was started.

struct StatusReporter {
  std::string_view name;  // "cordon-apply"
  int status_fd = -1;

  // `text` holds no control characters and is UTF-8; what is too long is cut. Allocates nothing.
  // The answer is the exit status.
  [[nodiscard]] int refuse(Status status, std::string_view text) const;
  void warn(std::string_view text) const;
};

// The layers themselves, put on this very process; then the command in its place.

struct Layers {
  int ruleset;
  int status_fd;  // kept until the command starts; -1: none
  std::span<const sock_filter> filter;
  std::span<const char* const> candidates;
  char* const* argv;
  char* const* environment;
};

struct LayerFailure {
  Status status;
  const char* what;
  int error;
};

// no_new_privs, Landlock, descriptors, capabilities, seccomp, the command: in this order, because
// each needs what the next takes away. Allocates nothing and returns only if something failed.
LayerFailure become_command(const Layers& layers);

// All words, the program's name first. Returns the exit status of a refusal, or of --dry-run.
int apply_main(std::span<char* const> words, char* const* environment);

}  // namespace cordon::apply
