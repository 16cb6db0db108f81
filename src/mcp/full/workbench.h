// Workbench: what the tools of the profile `full` share beside the Toolbox.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mcp/full/cursors.h"
#include "mcp/full/own_records.h"
#include "mcp/full/process_table.h"
#include "mcp/full/snapshots.h"
#include "mcp/full/verdicts.h"
#include "mcp/tools/toolbox.h"

namespace cordon::mcp {

struct Workbench {
  Workbench(std::shared_ptr<Toolbox> tools, std::string directory)
      : toolbox(std::move(tools)), state_directory(std::move(directory)) {}

  const std::shared_ptr<Toolbox> toolbox;
  const std::string state_directory;  // for files without names
  const Cursors cursors;
  ProcessTable processes{TableBounds{}};
  Verdicts verdicts;
  OwnRecords records;
  Snapshots snapshots;
  std::mutex start_mutex;
  bool start_was_looked_at = false;     // under the mutex
  std::vector<std::string> tool_names;  // set before the first call
};

}  // namespace cordon::mcp
