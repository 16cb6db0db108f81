// Why a command was not started. A command that was started has an Outcome instead, whatever
// became of it. One taxonomy serves the command line, the library and the MCP server.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cordon {

// What kind of reason it is. Each has a caller that does something else about it.
enum class ErrorKind {
  Unavailable,  // no usable mechanism on this host
  Untrusted,    // an executor's digest or provenance does not match its pin
  Unsupported,  // the policy needs what the backend cannot enforce
  Policy,       // malformed or contradictory policy or ceiling
  Setup,        // building the sandbox failed
  Command,      // the program does not exist or is not executable inside
  Audit,        // the record could not be written
  Usage,        // bad command line or tool arguments
};

// A place in a document; zero line and column mean the document as a whole.
struct Place {
  std::string file;     // the name of the document
  unsigned line = 0;    // from 1
  unsigned column = 0;  // from 1
  bool operator==(const Place&) const = default;
};

// Why something could not be done, and what to do about it.
struct Error {
  ErrorKind kind = ErrorKind::Setup;  // what kind of reason it is
  std::string what;                   // one lower-case clause without a full stop
  std::string hint;                   // what to type, install or change; may be empty
  std::optional<Place> place;         // the document and position at fault
  std::string operation;              // the plan operation that failed, as --dry-run prints it
  int error_number = 0;               // errno of the failing call, 0 if none
  std::vector<std::string> notes;     // later errors, attached to the first
  int exit_status = 125;              // 126 and 127 for ErrorKind::Command

  bool operator==(const Error&) const = default;
};

// The word for a kind: "policy".
std::string_view name_of(ErrorKind kind);
// The stable machine code of a kind, used in JSON, in the audit log and by tests: "E_POLICY".
std::string_view code(ErrorKind kind);
// A short text that is safe to hand to a model: it names no path and no ceiling entry.
std::string_view safe_text(ErrorKind kind);
// "place: what (strerror)" on one line, control characters escaped; the hint is not included.
std::string message(const Error& error);

// An error of ErrorKind::Policy.
Error policy_error(std::string what, std::string hint = {});
// An error of ErrorKind::Usage.
Error usage_error(std::string what, std::string hint = {});
// An error of ErrorKind::Setup, with the errno of the call that failed.
Error setup_error(std::string what, int error_number, std::string hint = {});

}  // namespace cordon
