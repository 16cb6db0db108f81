#include "config/schema.h"

#include <algorithm>
#include <array>

#include "config/policy_document.h"

namespace cordon {
namespace {

struct NamedSchema {
  std::string_view name;
  std::string_view text;
};

// Made from schema/ while building, so that the binary and the shipped files cannot differ.
constexpr auto kSchemas = std::to_array<NamedSchema>({
#include "schema_table.inc"
});

}  // namespace

std::optional<std::string_view> schema_called(std::string_view name) {
  const auto* const found = std::ranges::find(kSchemas, name, &NamedSchema::name);
  if (found == kSchemas.end()) return std::nullopt;
  return found->text;
}

std::string schema_names() {
  std::string names;
  for (const NamedSchema& schema : kSchemas)
    names.append(names.empty() ? "" : ", ").append(schema.name);
  return names;
}

std::string_view policy_schema() { return *schema_called("policy"); }
std::string_view report_schema() { return *schema_called("report"); }
std::string_view audit_schema() { return *schema_called("audit"); }

}  // namespace cordon
