// What cordon-gate is started with: nothing of this process but a socket, a configuration made of
// the policy in force, and the certificates that servers are judged by.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "gate/protocol.h"
#include "policy/effective.h"
#include "policy/host_facts.h"

namespace cordon {

// With nothing of this process but the socket: no variables, no other descriptors, a session of its
// own, so that no key that is pressed at the terminal reaches it first.
Result<pid_t> start_gate_program(const std::string& program, int control);

// Without the values of secrets (run/secret_source.h adds them).
gate::Configuration gate_configuration(const Effective& effective);

struct TrustStore {
  std::string path;
  Fd file;
};
// What SSL_CERT_FILE names, or else the first of the places where distributions keep them.
Result<TrustStore> open_trust_store(const Caller& caller);

}  // namespace cordon
