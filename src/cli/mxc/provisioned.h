// A provisioned sandbox: the document that was given, kept in Cordon's state, and beside it a mark
// while it is started.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"
#include "config/node.h"
#include "policy/host_facts.h"

namespace cordon::mxc {

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

}  // namespace cordon::mxc
