// OutputPage: the next part of what a process wrote, as a model may read it: control characters
// escaped, secrets masked, and never more than there is room for.
#pragma once

#include <cstdint>
#include <string>

#include "mcp/full/process.h"
#include "mcp/tools/secret_mask.h"

namespace cordon::mcp {

struct PageRequest {
  OutputFrom from = OutputFrom::Out;
  std::uint64_t offset = 0;
  std::size_t room = 0;   // in bytes of JSON
  std::string only_with;  // lines that hold this; empty: all
  bool ended = false;     // nothing follows: a line or character that is not complete is shown
};
struct OutputPage {
  std::string text;
  std::uint64_t next = 0;     // where the following page begins
  std::uint64_t missing = 0;  // bytes that were asked for and are not kept
  std::size_t masked = 0;
};
OutputPage output_page(const Process& process, const SecretMask& mask, const PageRequest& request);

// Where the last `lines` lines begin, as far as they are within reach.
std::uint64_t last_lines(const Process& process, OutputFrom from, std::uint64_t bytes,
                         std::uint64_t lines);

}  // namespace cordon::mcp
