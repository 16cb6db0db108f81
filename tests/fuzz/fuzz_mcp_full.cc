// Any arguments for any tool of the profile full: the number of the tool, a newline, a JSON text.
// What a schema lets through has only members of that schema, each of its type and within its
// bounds.
#include <cstddef>
#include <cstdint>

#include "base/text.h"
#include "faces/mcp/call.h"
#include "faces/mcp/full/full_table.h"
#include "faces/mcp/registry.h"
#include "require_that.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace cordon;

// The table needs no log and no ceiling as long as nothing is called.
const mcp::Registry& full_registry() {
  static audit::Recorder recorder({"/nonexistent"}, AuditChoice{});
  static const mcp::Registry registry = [] {
    mcp::Registry made;
    mcp::ToolContextOptions options;
    options.can_ask = true;
    const auto context =
        std::make_shared<mcp::ToolContext>(std::move(options), recorder, mcp::SecretMask({}));
    mcp::add_full_tools(made, {true, true}, std::make_shared<mcp::FullToolContext>(context, "/"));
    return made;
  }();
  return registry;
}

void require_within(const Node& schema, const Node& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value.value)) {
    require_that(*number >= mcp::number_member(schema, "minimum").value_or(INT64_MIN));
    require_that(*number <= mcp::number_member(schema, "maximum").value_or(INT64_MAX));
  }
  if (const NodeMap* members = value.map()) {
    const Node* properties = schema.find("properties");
    for (const auto& [name, member] : *members) {
      const Node* rule = properties != nullptr ? properties->find(name) : nullptr;
      require_that(rule != nullptr);
      require_within(*rule, member);
    }
  }
  if (const NodeList* items = value.list()) {
    const Node* rule = schema.find("items");
    require_that(rule != nullptr);
    for (const Node& item : *items) require_within(*rule, item);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  const std::size_t newline = text.find('\n');
  if (newline == std::string::npos) return 0;
  const auto number = parse_number(text.substr(0, newline));
  auto arguments = read_json(text.substr(newline + 1), "arguments");
  if (!number || !arguments) return 0;
  const auto& tools = full_registry().tools;
  const mcp::Tool& tool = tools[*number % tools.size()];
  if (!mcp::check_arguments(tool.input_schema, *arguments)) {
    require_within(tool.input_schema, *arguments);
  }
  return 0;
}
