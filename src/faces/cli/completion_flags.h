// The words of `cordon completion`.
#pragma once

#include <array>
#include <string_view>

#include "faces/cli/flag_table.h"
#include "faces/cli/help_flags.h"

namespace cordon::flags {

inline constexpr std::array<std::string_view, 3> kShellChoices{"bash", "zsh", "fish"};
inline constexpr std::array kCompletionGroups{kHelpGroup};
inline constexpr std::array kCompletionOperands{
    Operand{"SHELL", "bash, zsh or fish", ValueKind::Choice, kShellChoices}};
inline constexpr std::string_view kCompletionText =
    "Prints what a shell needs to complete the verbs, options and values of cordon. A package "
    "installs the same; this is for a build of your own:\n\n"
    "bash: cordon completion bash > ~/.local/share/bash-completion/completions/cordon\n\n"
    "zsh: cordon completion zsh > _cordon, in a directory of $fpath\n\n"
    "fish: cordon completion fish > ~/.config/fish/completions/cordon.fish";
inline constexpr std::array kCompletionExamples{
    Example{"cordon completion bash > cordon.bash", "For bash: source that file.", 0},
    Example{"cordon completion zsh > _cordon", "For zsh.", 0},
    Example{"cordon completion fish > cordon.fish", "For fish.", 0},
};
inline constexpr Verb kCompletionVerb{"completion",
                                      "SHELL",
                                      "print the completions of a shell",
                                      kCompletionText,
                                      kCompletionGroups,
                                      kCompletionOperands,
                                      kCompletionExamples,
                                      2};

}  // namespace cordon::flags
