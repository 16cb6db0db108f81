// What an MXC executor says: errors as a line of text and a line of JSON of its own, diagnostics.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"
#include "config/node.h"
#include "cordon/error.h"

namespace cordon::mxc {

inline constexpr int kRequestError = 1;    // the request could not be read
inline constexpr int kBackendError = 255;  // it could not be run

// {"error":{"code":...,"message":...}} on one line, without its end.
std::string envelope(std::string_view code, const Error& error);
// The code for an error: "policy_validation", "backend_unavailable", ...
std::string_view code_of(const Error& error);

// Where diagnostics go. Only what was asked for is written.
class Diagnostics {
 public:
  Diagnostics(bool debug, const std::string& log_file);
  void say(std::string_view line) const;

 private:
  bool debug_;
  Fd file_;
};

}  // namespace cordon::mxc
