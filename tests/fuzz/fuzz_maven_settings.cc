// Settings of maven: what is copied is read again as it is, and has no part in which a server, a
// property or a login would be.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "host/maven_settings.h"
#include "require_that.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordon;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto everywhere = [](std::string_view) { return true; };
  const auto copy = copied_maven_settings(text, "settings.xml", "/home/me", everywhere);
  if (!copy || copy->empty()) return 0;
  const auto again = copied_maven_settings(*copy, "settings.xml", "/home/me", everywhere);
  require_that(again && *again == *copy);
  for (const char* part : {"<server", "<properties>", "<username>", "<password>", "@"})
    require_that(copy->find(part) == std::string::npos);
  return 0;
}
