// Where this program lies, for those who are to start it again.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "faces/cli/arguments.h"
#include "faces/cli/flag_table.h"

namespace cordon {

// The absolute path of this program. An error if there is nothing to execute there any more, as
// after an upgrade while it ran.
Result<std::string> own_executable();

// The verbs that no run needs belong to programs of their own; see main.cc. Such a program is
// looked for beside this one, then in the libexec directory of its installation.

// Becomes the program of `verb` with the words behind the verb, which were read as `arguments`.
// Returns only with a failure.
int become_helper(const Verb& verb, const Arguments& arguments, std::span<const char* const> words);

// In such a program: its verbs, and carrying out the one that stands in the first word or, with its
// sub-verb, in the first two.
struct HelperVerb {
  std::string_view name;
  int (*entry)(const Arguments&);
};
int carry_out_helper(std::span<const HelperVerb> verbs, std::span<const char* const> words);

// The verb that a program of this name stands for: "srt" for srt, "mxc" for lxc-exec, "oci" for
// cordon-oci.
std::optional<std::string_view> drop_in_called(std::string_view name);
int become_drop_in(std::string_view verb, std::span<const char* const> words);

// The other way round: where `cordon` lies, for the program that it became.
Result<std::string> main_program();

}  // namespace cordon
