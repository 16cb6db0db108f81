// Shell completions, made from the flag table.
#pragma once

#include <string>

namespace cordon {

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

}  // namespace cordon
