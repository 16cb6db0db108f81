#include "run/lost_output.h"

#include <cerrno>
#include <csignal>
#include <cstring>

namespace cordon {
namespace {

constexpr const char* kLayer = "relay";
constexpr const char* kPrefix = "cannot write the command's output: ";

std::string text_of(int error) {
  if (error == ETIMEDOUT) return "nobody read it in time";
  const char* text = ::strerrordesc_np(error);
  return text != nullptr ? text : "error " + std::to_string(error);
}

}  // namespace

Denial lost_output(int error) { return {"output", text_of(error), kLayer, 1}; }

End end_with_lost_output(const End& end) {
  return end == End(Exited{0}) ? End(Signaled{SIGPIPE}) : end;
}

bool is_lost_output(const Denial& denial) {
  // The same layer has one more: the limit of all output.
  return denial.what == "output" && denial.layer == kLayer &&
         !denial.detail.starts_with("killed at");
}

std::optional<std::string> lost_output_message(const Denial& denial) {
  if (!is_lost_output(denial) || denial.detail == text_of(EPIPE)) return std::nullopt;
  return kPrefix + denial.detail;
}

}  // namespace cordon
