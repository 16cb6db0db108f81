// The certificates that Java trusts: a file of a form of its own, JKS, which the JDKs of a
// distribution share. Programs in Java read no variable about certificates, so that the run's
// authority has to stand in that file.
#pragma once

#include <string>
#include <string_view>

namespace cordon {

// A store with the certificates of `store`, a file of the form JKS, and then `authority`, in PEM.
// What else is in it is left out, private keys first of all. Where it cannot be read, the store
// holds what `bundle` holds, certificates in PEM, and the authority.
std::string java_trust(std::string_view store, std::string_view bundle, std::string_view authority);

}  // namespace cordon
