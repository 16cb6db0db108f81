// Requests about a sandbox that outlives one of them: provision, start, exec, stop, deprovision.
// The policy is fixed by provision and kept in Cordon's state; each exec is a contained run of its
// own under it, so nothing lives between two of them.
#pragma once

#include <optional>
#include <string>

#include "cli/mxc/answer.h"
#include "config/node.h"
#include "policy/host_facts.h"

namespace cordon::mxc {

struct PhaseOptions {
  bool dry_run = false;
  std::optional<BackendKind> backend;  // of an exec: that --backend names
};

// Answers with one JSON document on standard output, but for an exec that was started. A dry run
// judges an exec; of other phases there is none. The exit status.
int carry_out_phase(const Node& document, const std::string& name, const Caller& caller,
                    const Diagnostics& diagnostics, const PhaseOptions& options);

}  // namespace cordon::mxc
