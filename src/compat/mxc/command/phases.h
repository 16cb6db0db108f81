// Requests about a sandbox that outlives one of them: provision, start, exec, stop, deprovision.
// The policy is fixed by provision and kept in Cordon's state; each exec is a contained run of its
// own under it, so nothing lives between two of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "compat/mxc/command/execute.h"
#include "config/node.h"
#include "policy/host_facts.h"

namespace cordon::mxc {

// A provisioned sandbox: the document that was given, kept in Cordon's state, and beside it a mark
// while it is started.

struct PhaseFault {
  std::string_view code;  // one of MXC's twelve
  Error error;
};
using PhaseAnswer = tl::expected<Node, PhaseFault>;  // the result

class Provisioned {
 public:
  static Result<void> keep(const Caller& caller, const std::string& token,
                           const std::string& document);
  static tl::expected<Provisioned, PhaseFault> find(const Caller& caller, const std::string& token);

  [[nodiscard]] Result<Node> document() const;
  [[nodiscard]] bool started() const;
  PhaseAnswer start();
  PhaseAnswer stop();
  PhaseAnswer remove();

 private:
  Provisioned(Fd directory, std::string token)
      : directory_(std::move(directory)), token_(std::move(token)) {}
  [[nodiscard]] std::string mark() const { return token_ + ".started"; }

  Fd directory_;
  std::string token_;
};

struct PhaseOptions {
  bool dry_run = false;
  std::optional<BackendKind> backend;  // of an exec: that --backend names
};

// Answers with one JSON document on standard output, but for an exec that was started. A dry run
// judges an exec; of other phases there is none. The exit status.
int carry_out_phase(const Node& document, const std::string& name, const Caller& caller,
                    const Diagnostics& diagnostics, const PhaseOptions& options);

}  // namespace cordon::mxc
