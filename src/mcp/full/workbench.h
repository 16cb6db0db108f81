// Workbench: what the tools of the profile `full` share beside the Toolbox.
#pragma once

#include <memory>
#include <string>

#include "mcp/full/cursors.h"
#include "mcp/full/process_table.h"
#include "mcp/tools/toolbox.h"

namespace cordon::mcp {

struct Workbench {
  Workbench(std::shared_ptr<Toolbox> tools, std::string directory)
      : toolbox(std::move(tools)), state_directory(std::move(directory)) {}

  const std::shared_ptr<Toolbox> toolbox;
  const std::string state_directory;  // for files without names
  const Cursors cursors;
  ProcessTable processes{TableBounds{}};
};

}  // namespace cordon::mcp
