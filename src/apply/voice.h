// How a refusal is told: one line for people on standard error, one of JSON on the status
// descriptor. No line there and its end means that the command was started.
#pragma once

#include <string_view>

#include "apply/refusal.h"

namespace cordon::apply {

struct Voice {
  std::string_view name;  // "cordon-apply"
  int status_fd = -1;

  // `text` holds no control characters and is UTF-8; what is too long is cut. Allocates nothing.
  // The answer is the exit status.
  [[nodiscard]] int refuse(Status status, std::string_view text) const;
  void warn(std::string_view text) const;
};

}  // namespace cordon::apply
