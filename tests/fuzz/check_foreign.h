// What holds for every foreign document: it is refused with a place, or it becomes a policy that
// can be written down and read again.
#pragma once

#include <cstdint>
#include <string>

#include "base/path.h"
#include "compat/convert.h"
#include "compat/dialect/dialect.h"
#include "stable_policy.h"

namespace cordon {

inline int check_foreign(Dialect dialect, const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  const auto document = read_json(text, "fuzz.json");
  if (!document) return 0;
  const Places places{
      "/base", "/home/alex",
      [](const std::string& path) -> Result<std::string> { return normalize(path); },
      [](const std::string& path) -> Result<bool> { return path.size() % 2 == 0; },
      [](const std::string& path) -> Result<std::vector<std::string>> {
        return std::vector{join(path, "a"), join(path, "b")};
      }};
  const auto imported = import_policy(dialect, *document, "fuzz.json", places, {});
  if (!imported) {
    require_that(!imported.error().what.empty());
    return 0;
  }
  check_policy(encode_policy(imported->policy), "fuzz.json");
  const auto again = decode_policy(encode_policy(imported->policy), "fuzz.json", "/base", {});
  require_that(again.has_value());
  return 0;
}

}  // namespace cordon
