// Every fault of a document at once, for whoever writes it. The decoder stops at the first, as a
// run has to; here what was refused is taken out, and the rest is read anew. Nothing that is read
// so is ever used.
#pragma once

#include <string>
#include <vector>

#include "config/policy_document.h"

namespace cordon {

// In the order in which the decoder meets them; at most a hundred. Only such as the document has
// without the others: what a fault that was taken out would entail is not among them.
std::vector<Error> faults_in(Node document, DocumentRole role, const std::string& file,
                             const std::string& base, const PresetHost& host);

}  // namespace cordon
