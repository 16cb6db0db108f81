// Where programs of this host find the certificates of the authorities that they trust.
#pragma once

#include <string>
#include <vector>

namespace cordon {

// Of the usual places, those that are there: canonical, each file once, in the order in which
// programs look.
std::vector<std::string> trust_stores();
// The same for programs in Java, as far as they are of the form JKS: run/java_trust.h. They are
// called what is_java_store() of plan/trust_files.h knows.
std::vector<std::string> java_trust_stores();

}  // namespace cordon
