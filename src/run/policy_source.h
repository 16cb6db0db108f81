// Where policies and ceilings come from: presets, files, the environment.
#pragma once

#include <string>
#include <vector>

#include "config/policy_document.h"
#include "cordon/policy.h"
#include "policy/host_facts.h"
#include "policy/presets.h"

namespace cordon {

PresetHost preset_host();
// The limits of `workspace` on what a program may use up, for documents that know none: a fork bomb
// is bounded nevertheless.
void bound_unlimited(Limits& limits);

// `word` without '/' and without .toml or .json is a preset, then policies/WORD.toml in the
// configuration directory (a file may not shadow a preset); anything else is a file.
Result<Policy> load_policy(const std::string& word, const Caller& caller);

// Every ceiling that counts, read anew: /etc/cordon/ceiling.toml, ceiling.toml in the configuration
// directory, $CORDON_CEILING, `files`, and the environment form. A missing file of `files` or of
// $CORDON_CEILING is an error, a missing standard one is not.
Result<std::vector<Ceiling>> load_ceilings(const std::vector<std::string>& files,
                                           const Caller& caller);

// Every fault of that file, if it can be read at all; then the paths in it that no run on this host
// is given.
std::vector<Error> faults_of_file(const std::string& file, DocumentRole role);

}  // namespace cordon
