// Filters that a repository asks for in .gitattributes. Git stores a file as it is where a filter
// has no driver, and says nothing: what was to be a pointer of git-lfs, or text without its
// secrets, is committed whole.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/git/config.h"

namespace cordon {

// The filters that a .gitattributes names, sorted.
std::vector<std::string> filters_in(std::string_view attributes);

// Of the repository around the current directory: the filters for which neither its own
// configuration nor what a private home has of the person's (copied_git_settings) has a driver.
std::vector<std::string> filters_without_driver(const Caller& caller);

}  // namespace cordon
