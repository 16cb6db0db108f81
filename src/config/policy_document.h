// Policy and ceiling documents: one decoder for TOML and JSON, one canonical writer, one schema.
#pragma once

#include <string>
#include <string_view>

#include "config/node.h"
#include "cordon/policy.h"
#include "policy/effective.h"
#include "policy/presets.h"

namespace cordon {

enum class DocumentRole { Policy, Ceiling };

// `base` is the directory relative path entries are relative to. A policy with `extends` starts
// from that preset: lists append, scalars replace, denies accumulate. Unknown keys are errors with
// the nearest valid key; so are wrong types and contradictions (allow with mode none, and so on).
Result<Policy> decode_policy(const Node& document, const std::string& file, const std::string& base,
                             const PresetHost& host);
Result<Ceiling> decode_ceiling(const Node& document, const std::string& file,
                               const std::string& base);

// By suffix: .json is JSON, anything else TOML.
Result<Node> read_document(std::string_view text, const std::string& file);

// The document a policy would be written as.
Node encode_policy(const Policy& policy);
std::string write_toml(const Policy& policy);
// The table [ask] of a ceiling; null if there is none.
Node encode_ask(const AskRules& ask);
// The effective policy of a report: canonical paths, sorted lists, every key present.
Node encode_effective(const Effective& effective);

// The JSON Schema texts shipped in schema/ and printed by `cordon policy schema`.
std::string_view policy_schema();
std::string_view report_schema();
std::string_view audit_schema();

}  // namespace cordon
