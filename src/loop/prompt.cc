#include "loop/prompt.h"

#include "base/text.h"

namespace cordon::loop {

std::string build_prompt(const Feature& feature, const std::optional<VerifyEnded>& last) {
  std::string text = feature.title + "\n";
  if (!feature.prompt.empty()) text.append("\n").append(feature.prompt).append("\n");
  text.append("\nThe work is accepted when this command succeeds in the project directory:\n\n    ")
      .append(feature.verify)
      .append("\n");
  if (last) {
    text.append("\nAn earlier attempt was not accepted. The command ended with status ")
        .append(std::to_string(last->status))
        .append(" and wrote at last:\n\n")
        .append(sanitize_lines(last->output))
        .append("\n");
  }
  return text;
}

}  // namespace cordon::loop
