// One MXC request as a contained run.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "compat/mxc/mxc_document.h"
#include "config/node.h"
#include "cordon/error.h"
#include "faces/cli/arguments.h"
#include "policy/host_facts.h"

namespace cordon::mxc {

// What an MXC executor says: errors as a line of text and a line of JSON of its own, diagnostics.

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

// Where the text of a request comes from.

struct RequestText {
  std::string text;
  std::string name;  // for messages: a file, "--config-base64" or "standard input"
};
// --config-base64, then --config, then the operand.
Result<RequestText> request_text(const Arguments& arguments);

// Standard base64 with its padding, nothing else.
Result<std::string> decode_base64(std::string_view text);

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
