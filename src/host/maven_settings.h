// What a private home gets of maven's settings.xml: where artefacts come from, and nothing that a
// server, a key or a plugin is given. Built from a list of elements; what is not on it stays
// outside, known or not.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cordon {

// Whether the sandbox has that directory.
using HasPlace = std::function<bool(std::string_view path)>;

// Mirrors, proxies without a login, the repositories of profiles and which of those profiles are
// active; the local repository, if the sandbox has it. An entry with a login in one of its values
// is left out. Empty: nothing of it passes. An error: it cannot be read. `name` is used in
// messages; `home` is what maven calls ${user.home}.
Result<std::string> copied_maven_settings(std::string_view text, const std::string& name,
                                          const std::string& home, const HasPlace& has_place);

}  // namespace cordon
