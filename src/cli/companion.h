// Verbs that need the database and the signing library live in a second executable: linked into
// this one they would nearly double the time of every start, for their relocations alone.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "cli/flag_table.h"

namespace cordon {

// Becomes `cordon-VERB` with the words behind the sub-verb. It is looked for beside this program,
// then in the libexec directory of its installation. Returns only with a failure.
int become_companion(const Verb& verb, std::span<const char* const> words);
// The other way round: where `cordon` lies, for the program that it became.
Result<std::string> main_program();

}  // namespace cordon
