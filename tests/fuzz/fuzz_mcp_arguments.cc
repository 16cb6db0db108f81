// Any schema and any arguments: two JSON texts, one per line. What passes once passes again, and
// under the tightest schema nothing that is not of it does.
#include <cstddef>
#include <cstdint>

#include "faces/mcp/registry.h"
#include "require_that.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordon;
  const std::string text(data, data + size);
  const std::size_t newline = text.find('\n');
  if (newline == std::string::npos) return 0;
  const auto schema = read_json(text.substr(0, newline), "schema");
  auto arguments = read_json(text.substr(newline + 1), "arguments");
  if (!schema || !arguments) return 0;
  const auto fault = mcp::check_arguments(*schema, *arguments);
  if (fault) {
    require_that(!fault->empty());
  } else {
    require_that(!mcp::check_arguments(*schema, *arguments));
  }

  const auto closed = read_json(
      R"({"type":"object","properties":{"a":{"type":"string","maxLength":3}},
          "required":["a"],"additionalProperties":false})",
      "closed");
  if (!mcp::check_arguments(*closed, *arguments)) {
    const NodeMap* members = arguments->map();
    require_that(members != nullptr && members->size() == 1 && members->front().first == "a");
    require_that(members->front().second.text() != nullptr);
  }
  return 0;
}
