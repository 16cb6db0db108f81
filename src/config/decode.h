// The decoders of the tables of a document. Each works onto a policy that may already hold a
// preset: lists are appended, scalars replaced, and what is absent is kept.
#pragma once

#include <string>

#include "config/policy_document.h"
#include "config/section.h"

namespace cordon {

Result<void> decode_fs(const Section& document, const std::string& base, FsRules& fs);
Result<void> decode_net(const Section& document, const std::string& base, NetRules& net);
// After decode_net: the rules say that the network is one of listed hosts.
Result<void> decode_http(const Section& document, NetRules& net);
// Whether a document may define any is for whoever knows whose file it is.
Result<void> decode_secrets(const Section& document, std::vector<SecretRule>& secrets);
Result<void> decode_env(const Section& document, EnvRules& env);
Result<void> decode_limits(const Section& document, Limits& limits);
Result<void> decode_require(const Section& document, DocumentRole role, RequireRules& require);
// A policy may add names; only a ceiling releases one.
Result<void> decode_protect(const Section& document, DocumentRole role, ProtectRules& protect);
// The name of a policy that shares a login is an agent's that keeps one in a file.
Result<void> decode_agent(const Section& document, DocumentRole role, AgentRules& agent);
// In a policy: tables that only a ceiling has.
Result<void> refuse_of_ceilings(const Section& document);
Result<AuditRules> decode_audit(const Section& document);
Result<KeepBounds> decode_keep(const Section& document);
Result<AskRules> decode_ask(const Section& document, const std::string& base);

// Lists that more than one table has: paths, each judged by its spelling, and hosts.
Result<void> append_paths(const Section& section, std::string_view key, PathUse use,
                          const std::string& base, std::vector<PathRule>& rules);
Result<std::vector<HostRule>> decode_rules(const Section& section, std::string_view key);

// Puts an error that knows no place at the value that caused it.
Error placed(const Section& section, const Node& value, Error error);

}  // namespace cordon
