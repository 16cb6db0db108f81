#include <cstddef>
#include <cstdint>

#include "stable_policy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  const auto document = cordon::read_json(text, "fuzz.json");
  if (!document) {
    cordon::require_that(document.error().kind == cordon::ErrorKind::Policy);
    cordon::require_that(document.error().place.has_value());
    return 0;
  }
  cordon::check_policy(*document, "fuzz.json");
  cordon::check_ceiling(*document, "fuzz.json");
  return 0;
}
