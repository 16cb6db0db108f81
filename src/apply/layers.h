// The layers themselves, put on this very process; then the command in its place.
#pragma once

#include <span>

#include "apply/refusal.h"
#include "backend/native/listed_filter.h"

namespace cordon::apply {

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

}  // namespace cordon::apply
