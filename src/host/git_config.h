// A small strict reader of git's configuration syntax. It exists because git itself must not be
// run on a repository that a contained program may have written: reading the configuration is what
// makes git execute things. What git would not accept, this does not accept either.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cordon {

struct GitSetting {
  std::string section;               // lower case
  std::string subsection;            // as written; empty if none
  std::string key;                   // lower case
  std::optional<std::string> value;  // absent for a bare key, which means true
  auto operator<=>(const GitSetting&) const = default;
};

// Nothing if the text is malformed or holds NUL bytes. Includes are not followed.
std::optional<std::vector<GitSetting>> parse_git_config(std::string_view text);
std::string write_git_config(std::span<const GitSetting> settings);

std::optional<std::string> last_value(std::span<const GitSetting> settings,
                                      std::string_view section, std::string_view subsection,
                                      std::string_view key);

// True for settings that no git command turns into a program to run or a file to include. A
// positive list: what it does not know is not harmless.
bool is_harmless(const GitSetting& setting);

}  // namespace cordon
