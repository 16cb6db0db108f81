#include "backend/processcontainer/invocation.h"

#include "backend/processcontainer/quote.h"
#include "base/base64.h"

namespace cordon::processcontainer {

std::optional<std::vector<std::string>> executor_arguments(std::string_view document) {
  std::vector<std::string> arguments = {"wxc-exec.exe", "--config-base64", base64(document)};
  const auto line = command_line(arguments);
  if (!line || line->size() > kMostCommandLine) return std::nullopt;
  return arguments;
}

}  // namespace cordon::processcontainer
