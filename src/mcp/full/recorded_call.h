// RecordedCall: a call that starts no run of its own. Its record is durable before it does
// anything, and closed with its answer.
#pragma once

#include <variant>

#include "mcp/tools/answer.h"
#include "mcp/tools/toolbox.h"

namespace cordon::mcp {

class RecordedCall {
 public:
  // The other alternative is the answer to a call that could not be recorded, or whose ceilings
  // cannot be read.
  static std::variant<RecordedCall, ToolResult> begin(Toolbox& toolbox, const Call& call,
                                                      const std::string& tool);

  // The same for a call that knows more about itself: what stands in `action` is recorded.
  static std::variant<RecordedCall, ToolResult> begin(Toolbox& toolbox, const Call& call,
                                                      Bounds bounds, audit::Action action);

  [[nodiscard]] const Bounds& bounds() const { return bounds_; }
  // Exactly one of them.
  ToolResult done(Node node);
  ToolResult failed(const ToolFault& fault);

 private:
  RecordedCall(Toolbox& toolbox, std::string tool, Bounds bounds, audit::Recorder::Ticket ticket);
  void close(audit::Ending ending);

  Toolbox* toolbox_;
  std::string tool_;
  Bounds bounds_;
  audit::Recorder::Ticket ticket_;
};

}  // namespace cordon::mcp
