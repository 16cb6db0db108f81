#include "cli/mxc/answer.h"

#include <fcntl.h>

#include <cerrno>

#include "base/text.h"
#include "cli/talk.h"

namespace cordon::mxc {

std::string_view code_of(const Error& error) {
  switch (error.kind) {
    case ErrorKind::Policy:
    case ErrorKind::Unsupported:
    case ErrorKind::Usage:
      return "policy_validation";
    case ErrorKind::Unavailable:
    case ErrorKind::Untrusted:
      return "backend_unavailable";
    case ErrorKind::Setup:
    case ErrorKind::Command:
    case ErrorKind::Audit:
      return "backend_error";
  }
  return "backend_error";
}

std::string envelope(std::string_view code, const Error& error) {
  std::string text = message(error);
  for (const std::string& note : error.notes) text += "; " + note;
  Node inner;
  inner.set("code", Node(code)).set("message", Node(text));
  if (!error.hint.empty()) inner.set("remediation", Node(error.hint));
  Node node;
  node.set("error", std::move(inner));
  return write_json(node, JsonStyle::Compact);
}

Diagnostics::Diagnostics(bool debug, const std::string& log_file) : debug_(debug) {
  if (log_file.empty()) return;
  // A link that an earlier run left behind would lead the lines into a file of its choice.
  file_ = Fd(::open(log_file.c_str(),
                    O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0600));
  if (!file_.valid()) {
    cordon::say("warning: " +
                message(setup_error("cannot open the log file " + quote(log_file), errno)) + "\n");
  }
}

void Diagnostics::say(std::string_view line) const {
  const std::string text = sanitize(line) + "\n";
  if (debug_) cordon::say(text);
  if (file_.valid()) write_all(file_.get(), text);
}

}  // namespace cordon::mxc
