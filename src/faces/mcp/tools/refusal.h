// Refusal: what refuses an access, as a model is told it: why, and who can change what. It goes by
// the policy and by names alone, so that nobody learns from it what exists outside.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cordon/outcome.h"
#include "faces/mcp/tools/call_ceilings.h"

namespace cordon::mcp {

enum class Refusal {
  Outside,    // no ceiling permits the path
  ReadOnly,   // the ceilings permit reading it
  Narrowed,   // the ceilings permit it, and the call itself asked for less
  Denied,     // a deny of a ceiling covers it
  Hidden,     // a credential, or a file of Cordon's own
  Protected,  // what tools and agents load
  System,     // a write into a directory of the system
  Call,       // a system call that no sandbox permits
  Host,       // no ceiling permits the host
  Socket,     // no ceiling permits the local socket of the host
  Variable,   // no ceiling lets a call set it
};

// Of a file tool's path, which is not permitted. Canonical.
Refusal refusal_of(const CallCeilings& bounds, const std::string& path, RequestedAccess wish);
// Of what a command that failed may have failed of.
Refusal refusal_of(const CallCeilings& bounds, const Hint& hint);
// Of what a command was refused while it ran; nothing for a limit, or where no ceiling helps.
std::optional<Refusal> refusal_of(const Denial& denial);

// One clause.
std::string_view reason_of(Refusal refusal);
// What to do next, for all of them together; at least one.
std::string help_for(const CallCeilings& bounds, std::span<const Refusal> refusals);

}  // namespace cordon::mcp
