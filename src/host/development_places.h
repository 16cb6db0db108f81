// What this host has that a policy for development names, found by looking.
#pragma once

#include "config/foreign/safeclaw_builder.h"
#include "policy/host_facts.h"

namespace cordon {

// Under Landlock a grant of a home would be one of everything in it, so of a home only what holds
// no credential is named, and only what is there and no link. Refuses a current directory that is
// no project.
Result<DevelopmentPlaces> development_places(const Caller& caller);
// A path of the command line, where it leads to; refused if it is never to be written.
Result<std::string> writable_place(std::string_view written, const Caller& caller);

// Credential stores as mounts can cover them: files and directories that are there, a link's target
// in place of the link.
std::vector<std::string> coverable_stores(const Caller& caller);

}  // namespace cordon
