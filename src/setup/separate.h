// An installation beside the user's own: test and production agents whose ceilings, policies and
// audit logs have no file in common.
#pragma once

#include <string>

#include "policy/host_facts.h"
#include "setup/documents.h"

namespace cordon::setup {

struct Separate {
  std::string directory;  // of the file with the variables
  std::string file;       // its name there, ending in .env
  Variables variables;    // directories that carry the file's name: NAME/config, NAME/state
};

// `written` names the file, relative to the current directory or absolute. Refused: a place inside
// the project, where a run could rewrite it; a spelling that a shell would have to quote; a place
// that would not count because a variable that is set already leads elsewhere.
Result<Separate> separate_installation(const std::string& written, const Caller& caller);

// The caller as that installation sees it.
Caller within(const Separate& separate, Caller caller);

}  // namespace cordon::setup
