// The files of certificates that a run with rules for requests sees (plan/trust_files.h): where the
// host's are read, and how the copies are made.
#pragma once

#include <string>

#include "run/judge.h"

namespace cordon {

// The host's file that the copies begin with; empty: there is none. What SSL_CERT_FILE names counts
// if the command may read it.
std::string trust_source(const Judgement& judgement, const Caller& caller);

// Once the gate has made its authority, whose certificate is `authority`, in PEM; before the
// launch. Nothing but certificates of the host's file is copied, and none through a link: it was
// judged by the name that it had then.
Result<void> write_trust(const PlanRequest& request, const std::string& authority);

}  // namespace cordon
