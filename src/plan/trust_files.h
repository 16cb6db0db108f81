// The certificates that programs inside trust in a run with rules for requests: those of the host's
// bundle, and of the authority made for this run. A plan names the files, and what is in them is
// written before the launch (run/trust_copy.h): the authority is made when the gate starts.
#pragma once

#include <string>
#include <string_view>

#include "plan/plan.h"

namespace cordon {

inline constexpr std::string_view kTrustBundle = "bundle.pem";      // the host's, and the authority
inline constexpr std::string_view kRunAuthority = "authority.pem";  // it alone
inline constexpr std::string_view kJavaTrust = "java.jks";          // for Java, in its own form
// Where they are inside, if there are mounts. No grant covers it.
inline constexpr std::string_view kTrustInside = "/dev/cordon/trust";

// Of the host's places, one of a file for programs in Java.
bool is_java_store(std::string_view path);

// Adds the variables by which programs find them in `directory`. One that is there was chosen by
// the policy or the caller and stays: whoever reads it does not trust the authority, which is told.
void add_trust_variables(const std::string& directory, Plan& plan);
// Tells that the files begin with nothing of the host's, if that is so.
void note_missing_trust(const PlanRequest& request, Plan& plan);

}  // namespace cordon
