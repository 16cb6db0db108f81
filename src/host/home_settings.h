// Settings of the person's tools that a private home gets as copies: which registry a package comes
// from, how git treats the ends of lines. Each copy is built from a list of keys that run nothing
// and tell no secret; what is not on the list stays outside, known or not.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/error.h"
#include "host/git/config.h"
#include "policy/effective.h"
#include "policy/host_facts.h"

namespace cordon {

// The files of the private home, but for .gitconfig: git's own ignore and attributes, .npmrc,
// pip's, maven's.
std::vector<HomeFile> home_settings(const Caller& caller, const UserGit& git,
                                    const Effective& effective);

// Why nothing of maven's settings.xml can be copied, if there is one and it cannot be read. (Of the
// others, lines that are not understood are left out.)
std::optional<Error> unread_settings(const Caller& caller);

// True of a value that tells no login and asks for no variable.
bool is_public_setting(std::string_view value);

// What is left of the content of a .npmrc, and of a pip.conf. Empty: nothing.
std::string copied_npmrc(std::string_view text);
std::string copied_pip_conf(std::string_view text);

}  // namespace cordon
