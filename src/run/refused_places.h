// The paths of a document that are granted to no run on this host, whoever asks for them: for
// whoever writes it. The decoder knows no host, and a run meets them one at a time.
#pragma once

#include <string>
#include <vector>

#include "config/policy_document.h"
#include "policy/host_facts.h"

namespace cordon {

// Each with its place and its cure, in the order of the document. A ceiling may name a home, or
// what lies above one: that bounds what lies below.
std::vector<Error> refused_places(const Node& document, DocumentRole role, const std::string& file,
                                  const Caller& caller);

}  // namespace cordon
