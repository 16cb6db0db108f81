// Settings of the person's tools that a private home gets as copies: which registry a package comes
// from, how git treats the ends of lines. Each copy is built from a list of keys that run nothing
// and tell no secret; what is not on the list stays outside, known or not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/git/config.h"
#include "policy/host_facts.h"

namespace cordon {

// The files of the private home, but for .gitconfig: git's own ignore and attributes, .npmrc,
// pip's.
std::vector<HomeFile> home_settings(const Caller& caller, const UserGit& git);

// What is left of the content of a .npmrc, and of a pip.conf. Empty: nothing.
std::string copied_npmrc(std::string_view text);
std::string copied_pip_conf(std::string_view text);

}  // namespace cordon
