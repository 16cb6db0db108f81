#include "cli/srt/talk.h"

#include <string>

#include "base/text.h"
#include "cli/talk.h"

namespace cordon::srt {

int refuse(const Error& error) {
  std::string text = "Error: " + sanitize(message(error)) + "\n";
  for (const std::string& note : error.notes) text += "also: " + sanitize(note) + "\n";
  if (!error.hint.empty()) text += "hint: " + sanitize(error.hint) + "\n";
  cordon::say(text);
  return error.kind == ErrorKind::Command ? error.exit_status : kRefused;
}

void Debug::say(std::string_view line) const {
  if (wanted_) cordon::say("[SandboxDebug] " + sanitize(line) + "\n");
}

}  // namespace cordon::srt
