// What there is of an executor on this host, for `cordon doctor`: an operator who wants to pin one
// has to learn its digest, and where a pinned one came from.
#pragma once

#include <optional>
#include <string>

#include "backend/mxc/pins.h"

namespace cordon::mxc {

struct ExecutorAccount {
  std::string path;
  std::string tier;          // how it was found
  std::string key;           // "linux-arm64"
  std::string sha256;        // of the file as it is
  std::optional<Pin> pin;    // of this host, zeros or not
  std::string pins;          // the file that has it, or would
  std::optional<Error> why;  // it cannot be looked at, or is refused whatever its digest
};

// Nothing if no executor is installed.
std::optional<ExecutorAccount> examine_executor(const Caller& caller);

}  // namespace cordon::mxc
