// A network that only an outer layer can hold: localhost, or a list of domains.
#pragma once

#include "apply/refusal.h"
#include "backend/native/listed_filter.h"
#include "config/foreign/safeclaw_policy.h"

namespace cordon::apply {

// The sockets that the policy leaves. Localhost and domains are refused unless no interface but
// loopback is up here: then there is an outer layer, and only what it lets through is reached. A
// document that says nothing of the network leaves it to whoever wrote it.
Judged<ListedSockets> sockets_of(const SafeClawNetwork& network);

}  // namespace cordon::apply
