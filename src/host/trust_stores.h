// Where programs of this host find the certificates of the authorities that they trust.
#pragma once

#include <string>
#include <vector>

namespace cordon {

// Of the usual places, those that are there: canonical, each file once, in the order in which
// programs look.
std::vector<std::string> trust_stores();

}  // namespace cordon
