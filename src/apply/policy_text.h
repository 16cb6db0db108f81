// The policy: where it is read from, and its strict reading. Nothing is looked up twice: what was
// opened is what is judged.
#pragma once

#include <string>

#include "apply/refusal.h"
#include "config/foreign/safeclaw_policy.h"

namespace cordon::apply {

inline constexpr std::size_t kLongestPolicy = std::size_t{64} * 1024;

// The file must be a regular one, not reached through a link of that name, the caller's own and of
// mode 0600 exactly: anybody else who may write it would set the boundary.
Judged<std::string> read_policy_file(const std::string& path);
// To the end of file; the descriptor is closed.
Judged<std::string> read_policy_descriptor(int descriptor);

// Bounds and strictness as decode_safeclaw says; every refusal of the document has the status
// Policy.
Judged<SafeClawPolicy> parse_policy(const std::string& text, const std::string& name);

}  // namespace cordon::apply
