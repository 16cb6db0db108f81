// FileCall: a call about one path. The same line as a command, with Cordon's own program in place
// of one. The sandbox decides; what is said afterwards only explains it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "faces/mcp/tools/answer.h"
#include "faces/mcp/tools/tool_context.h"
#include "host/resolve.h"

namespace cordon::mcp {

class FileCall {
 public:
  struct Kind {
    const char* tool;
    const char* blocked;  // "Read blocked or failed"
    const char* failed;   // "Read failed"
    RequestedAccess access = RequestedAccess::Read;
    bool relative = false;   // a path may be relative to the workspace
    bool directory = false;  // it may be a directory
  };
  FileCall(ToolContext& context, const Call& call, const Kind& kind, std::string path)
      : context_(context), call_(call), kind_(kind), path_(std::move(path)) {}

  // Everything that comes before a run: who, under which ceilings, and which object is meant. An
  // answer if that is as far as it goes.
  std::optional<ToolResult> prepare();

  [[nodiscard]] const Caller& caller() const { return *caller_; }
  [[nodiscard]] const CallCeilings& bounds() const { return *bounds_; }
  [[nodiscard]] const Canonical& place() const { return place_; }
  [[nodiscard]] ToolContext& context() const { return context_; }
  [[nodiscard]] bool is_permitted() const { return permitted(*bounds_, place_.path, kind_.access); }

  // Runs Cordon's own program with `words` behind its verb. `listener` may be null.
  [[nodiscard]] Report run(Policy policy, const std::vector<std::string>& words,
                           std::optional<std::string> content, Output out) const;

  // Answers. refuse() records a call that comes to nothing.
  ToolResult refuse(const Error& error, const ToolFault& fault);
  [[nodiscard]] ToolResult not_started(const Report& report) const;
  // The sandbox refused. Whether that is the operator's doing or the file's own is told only where
  // the operator lets the path be seen.
  [[nodiscard]] ToolResult blocked(const Report& report) const;
  // A run that came to nothing for a reason the file itself gives.
  [[nodiscard]] ToolResult failed(const Report& report, const ToolFault& fault) const;
  // A protected file that appeared was moved away.
  [[nodiscard]] ToolResult moved_away(const Report& report) const;
  [[nodiscard]] Node shown_path() const;

 private:
  [[nodiscard]] Node failure(const ToolFault& fault, const std::string& err, Node exit_code) const;
  [[nodiscard]] ToolFault outside() const;
  [[nodiscard]] ToolFault held() const;

  ToolContext& context_;
  const Call& call_;
  const Kind& kind_;
  const std::string path_;
  std::optional<Caller> caller_;
  std::optional<CallCeilings> bounds_;
  Canonical place_;
};

}  // namespace cordon::mcp
