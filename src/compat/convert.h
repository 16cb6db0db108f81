// Converts policies between Cordon's language and those of other tools; the rules of a conversion
// are in compat/dialect/dialect.h.
#pragma once

#include <span>
#include <string>

#include "compat/dialect/dialect.h"

namespace cordon {

// Errors carry the place of the key or value at fault. `dropped` are restrictions of the source
// that are to be given up; the error that asks for one says its name.
Result<Imported> import_policy(Dialect dialect, const Node& document, const std::string& file,
                               const Places& places, std::span<const std::string> dropped);

// Here `dropped` are keys of the policy: "limits.memory", or "limits" for all of them.
Result<Exported> export_policy(Dialect dialect, const Policy& policy, const Places& places,
                               std::span<const std::string> dropped);

}  // namespace cordon
