// The texts that `cordon setup` writes. They depend on nothing but what is passed in, so that a
// second set-up knows its own files by their bytes; what an operator changed differs from them.
#pragma once

#include <string>

namespace cordon::setup {

// Namespaces: this host permits nothing better than the backend landlock, and the ceiling accepts
// what that one goes without.
enum class AcceptMissing { Nothing, Namespaces };
std::string ceiling_text(AcceptMissing accept);
// `name` is accepted by check_project_name().
std::string policy_text(const std::string& name);

// The variables of a separate installation, for CORDON_ENV_FILE and for a shell. The paths need no
// quoting.
struct Variables {
  std::string config_home;
  std::string state_home;
};
std::string variables_text(const Variables& variables);

}  // namespace cordon::setup
