#include "cordon/error.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace cordon {

std::string_view name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Unavailable:
      return "unavailable";
    case ErrorKind::Untrusted:
      return "untrusted";
    case ErrorKind::Unsupported:
      return "unsupported";
    case ErrorKind::Policy:
      return "policy";
    case ErrorKind::Setup:
      return "setup";
    case ErrorKind::Command:
      return "command";
    case ErrorKind::Audit:
      return "audit";
    case ErrorKind::Usage:
      return "usage";
  }
  return "setup";
}

std::string_view code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Unavailable:
      return "E_UNAVAILABLE";
    case ErrorKind::Untrusted:
      return "E_UNTRUSTED";
    case ErrorKind::Unsupported:
      return "E_UNSUPPORTED";
    case ErrorKind::Policy:
      return "E_POLICY";
    case ErrorKind::Setup:
      return "E_SETUP";
    case ErrorKind::Command:
      return "E_COMMAND";
    case ErrorKind::Audit:
      return "E_AUDIT";
    case ErrorKind::Usage:
      return "E_USAGE";
  }
  return "E_SETUP";
}

std::string_view safe_text(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Unavailable:
      return "no sandbox mechanism is usable on this host, so nothing was run";
    case ErrorKind::Untrusted:
      return "the sandbox executor is not the one that was pinned, so nothing was run";
    case ErrorKind::Unsupported:
      return "the sandbox cannot enforce what this policy asks for, so nothing was run";
    case ErrorKind::Policy:
      return "the sandbox policy is not valid, so nothing was run";
    case ErrorKind::Setup:
      return "the sandbox could not be built, so nothing was run";
    case ErrorKind::Command:
      return "the program does not exist or cannot be executed inside the sandbox";
    case ErrorKind::Audit:
      return "the audit record could not be written, so nothing was run";
    case ErrorKind::Usage:
      return "the request is not valid, so nothing was run";
  }
  return "the sandbox could not be built, so nothing was run";
}

std::string message(const Error& error) {
  std::string text;
  if (error.place) {
    text.append(error.place->file);
    if (error.place->line != 0) {
      text.append(":").append(std::to_string(error.place->line));
      text.append(":").append(std::to_string(error.place->column));
    }
    text.append(": ");
  }
  if (!error.operation.empty()) text.append(error.operation).append(": ");
  text.append(error.what);
  if (error.error_number != 0) {
    // strerror() is neither safe among threads nor free of the locale.
    const char* description = ::strerrordesc_np(error.error_number);
    text.append(" (");
    text.append(description != nullptr ? description
                                       : "errno " + std::to_string(error.error_number));
    text.append(")");
  }
  return sanitize(text);
}

Error policy_error(std::string what, std::string hint) {
  Error error;
  error.kind = ErrorKind::Policy;
  error.what = std::move(what);
  error.hint = std::move(hint);
  return error;
}

Error usage_error(std::string what, std::string hint) {
  Error error;
  error.kind = ErrorKind::Usage;
  error.what = std::move(what);
  error.hint = std::move(hint);
  return error;
}

namespace {

// What helps where the soft limit alone is low is refused where the hard one is.
std::string hint_for_open_files() {
  constexpr rlim_t kEnough = 1024;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) < 0) return "raise the limit of open files: ulimit -n";
  const std::string now = "ulimit -n is " + std::to_string(limit.rlim_cur) + ": ";
  if (limit.rlim_cur >= kEnough) return now + "allow more in the shell that starts cordon";
  if (limit.rlim_max >= kEnough)
    return now + "ulimit -Sn " + std::to_string(kEnough) + " in the shell that starts cordon";
  return now +
         "the hard limit is as low: start from a shell in which nobody lowered it, or have it "
         "raised (LimitNOFILE=, /etc/security/limits.conf)";
}

std::string hint_for_file_size() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return "ulimit -f lets no file grow past " + std::to_string(limit.rlim_cur / 1024) +
         " KiB: ulimit -f unlimited in the shell that starts cordon, or start from one in which "
         "nobody lowered it; [limits] file_size bounds the command alone";
}

}  // namespace

Error setup_error(std::string what, int error_number, std::string hint) {
  if (error_number == EFBIG) {
    if (std::string cure = hint_for_file_size(); !cure.empty()) hint = std::move(cure);
  }
  if (hint.empty() && error_number == EMFILE) hint = hint_for_open_files();
  if (hint.empty() && error_number == ENFILE) hint = "the whole host has too many files open";
  Error error;
  error.kind = ErrorKind::Setup;
  error.what = std::move(what);
  error.hint = std::move(hint);
  error.error_number = error_number;
  return error;
}

}  // namespace cordon
