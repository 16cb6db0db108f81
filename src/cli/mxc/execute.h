// One MXC request as a contained run.
#pragma once

#include <optional>

#include "cli/mxc/answer.h"
#include "config/foreign/mxc_request.h"
#include "policy/host_facts.h"

namespace cordon::mxc {

enum class ErrorsTo { Stderr, Stdout };

struct Execution {
  MxcRequest request;
  bool dry_run = false;
  std::optional<BackendKind> backend;  // that --backend names
  // One-shot requests put errors on standard error and end with 255, requests with a phase put them
  // on standard output and end with 1.
  ErrorsTo errors = ErrorsTo::Stderr;
};
// The exit status.
int execute(const Execution& execution, const Caller& caller, const Diagnostics& diagnostics);

}  // namespace cordon::mxc
