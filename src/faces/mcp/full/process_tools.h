// How the tools tell about a process: its state, what it wrote, and where to go on reading.
#pragma once

#include <optional>
#include <string>

#include "faces/mcp/full/full_table.h"
#include "faces/mcp/full/process.h"
#include "faces/mcp/tools/answer.h"
#include "faces/mcp/tools/excerpt.h"

namespace cordon::mcp {

// process_id, name, state, exit_code, signal, kill_reason, age_ms and sizes.
void add_status(Node& node, const ProcessStatus& status);

struct OutputRequest {
  enum class Streams { Both, Out, Err };
  Streams streams = Streams::Both;
  Cursors::Place from;
  std::string only_with;
  std::size_t room = kResultBytes;  // for the whole answer
};
// stdout, stderr and next_cursor, in what the node leaves of the room.
void add_output(Node& node, const FullToolContext& bench, const Process& process,
                const ProcessStatus& status, const OutputRequest& wish);

// What a cursor of this process is sealed with.
std::string cursor_subject(const std::string& process_id);

ToolFault unknown_process();

// max_output of a call: bytes that its answer may have.
std::size_t wanted_room(const Call& call);

}  // namespace cordon::mcp
