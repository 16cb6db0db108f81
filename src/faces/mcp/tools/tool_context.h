// ToolContext: what the tools of a server share. Every call goes through run() or refuse(), so that
// each leaves its records.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/recorder.h"
#include "config/node.h"
#include "faces/mcp/call.h"
#include "faces/mcp/tools/approvals.h"
#include "faces/mcp/tools/call_ceilings.h"
#include "faces/mcp/tools/client_sessions.h"
#include "faces/mcp/tools/secret_mask.h"
#include "run/line.h"

namespace cordon::mcp {

struct ToolContextOptions {
  std::vector<std::string> ceiling_files;  // beside the standard ones
  std::vector<std::string> hidden;         // files no sandbox may see, absolute
  // A line for the operator: what went wrong in full, which a model is not told.
  std::function<void(const std::string& line)> tell;
  bool can_ask = false;                     // request_access is among the tools
  std::optional<BackendKind> backend = {};  // that every call is to use; absent: as in choose.h
  MakeBackend backends;
  Sharing sharing = Sharing::None;
};

class ToolContext {
 public:
  ToolContext(ToolContextOptions options, audit::Recorder& recorder, SecretMask mask);

  // Ceilings as they are now with what was approved beyond them for the call's client, and what the
  // operator wants when the log cannot be written. An approval that the ceilings no longer let be
  // asked for ends here.
  Result<CallCeilings> bounds(const Caller& caller, const Call& call);
  // The same for a run that goes on: callable from any thread, also after this is gone.
  [[nodiscard]] std::function<Result<std::vector<Ceiling>>()> ceilings_now(const Caller& caller,
                                                                           const Call& call);
  // A run under these bounds that ends with the call.
  [[nodiscard]] RunInput input(const CallCeilings& bounds, const Call& call,
                               std::string tool) const;
  // Records a call that comes to nothing. The event id, or nothing if even that failed.
  std::optional<std::string> refuse(const Caller& caller, const Call& call, const std::string& tool,
                                    const Error& error);

  // Carries out a run of input(), in the session of its client or alone (client_sessions.h).
  Report run(const std::weak_ptr<Client>& client, const CallCeilings& bounds, const RunInput& input,
             const Caller& caller, CallKind kind);
  [[nodiscard]] ClientSessions& sessions() { return sessions_; }

  [[nodiscard]] bool can_ask() const { return options_.can_ask; }
  void tell_operator(const std::string& tool, const Error& error) const;

  [[nodiscard]] const SecretMask& mask() const { return mask_; }
  [[nodiscard]] audit::Recorder& recorder() const { return recorder_; }
  [[nodiscard]] std::shared_ptr<Approvals> approvals(const Call& call) {
    return approvals_.of(call.client());
  }

 private:
  void add_approved(CallCeilings& bounds, Approvals& approvals) const;
  // Once, and again when it changes: calls are many.
  void tell_choice(const std::string& line) const;

  const ToolContextOptions options_;
  audit::Recorder& recorder_;
  const SecretMask mask_;
  ClientSessions sessions_;
  mutable std::mutex choice_mutex_;
  mutable std::string told_choice_;
  ClientApprovals approvals_;
};

// A run that makes use of an approval ends with it: its wall clock stops no later.
void end_with_approvals(Policy& policy, const CallCeilings& bounds);

// The request's id as the audit log has it.
std::string call_id(const Call& call);
// Arguments that the schema promises; empty if they are not there after all.
std::string text_argument(const Call& call, std::string_view name);
std::vector<std::string> texts_of(const Node* list);

// Building input schemas: closed objects of fields with one type each and a bound on every size.

inline constexpr int kMostArguments = 1024;
inline constexpr int kLongestArgument = 131'071;  // the kernel's bound for one
inline constexpr int kMostPaths = 64;
inline constexpr int kLongestPath = 4095;
inline constexpr int kLongestContent = 4 << 20;  // of the profile basic, which stays as it is
inline constexpr int kLongestWallMs = 3'600'000;

Node typed(std::string_view type, std::string_view description);
Node text_schema(std::string_view description, int least, int most);
Node list_schema(std::string_view description, int least, int most, int longest);
Node closed_object(NodeMap properties, NodeList required);

}  // namespace cordon::mcp
