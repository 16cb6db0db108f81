// The JSON Schemas of what Cordon reads and answers, one for each `--json`, as shipped in schema/.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cordon {

// "policy", "report", "check" ...: the name of the file in schema/ before ".schema.json".
std::optional<std::string_view> schema_called(std::string_view name);
// All names, for a person: "policy, report, ...".
std::string schema_names();

}  // namespace cordon
