// Governance: what an operator has signed for one agent. It narrows a session like any ceiling.
//
//   /etc/cordon/governance.pub          the public key, Ed25519, as openssl writes it (PEM)
//   /etc/cordon/governance/ID.toml      a ceiling, with [governance] agent = "ID"
//   /etc/cordon/governance/ID.toml.sig  64 bytes: the signature over the bytes of the document
//   /etc/cordon/governance/revoked      an ID or the SHA-256 of a document on each line; '#'
//   remarks
#pragma once

#include <optional>
#include <string>

#include "cordon/policy.h"
#include "policy/host_facts.h"

namespace cordon {

inline constexpr const char* kSystemConfiguration = "/etc/cordon";

// The ceiling of the agent `id`. Nothing if this machine has no governance: neither key nor
// documents. Where it has, a document that is missing, not signed, of another agent or revoked is
// an error. An empty id is no agent's.
Result<std::optional<Ceiling>> governance_of(const std::string& id, const Caller& caller,
                                             const std::string& directory = kSystemConfiguration);

}  // namespace cordon
