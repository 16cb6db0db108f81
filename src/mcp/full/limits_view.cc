#include "mcp/full/limits_view.h"

#include <algorithm>

#include "base/text.h"
#include "mcp/tools/run_request.h"
#include "mcp/tools/schema.h"

namespace cordon::mcp {
namespace {

Node number(const std::optional<std::uint64_t>& value) { return value ? Node(*value) : Node(); }

Node limits_node(const Effective& effective) {
  const Limits& limits = effective.limits;
  Node node{NodeMap{}};
  node.set("wall_ms", number(limits.wall_ms))
      .set("memory_bytes", number(limits.memory))
      .set("processes", number(limits.pids))
      .set("open_files", number(limits.files))
      .set("file_bytes", number(limits.file_size))
      .set("temporary_bytes", number(effective.scratch));
  return node;
}

}  // namespace

Result<Node> limits_view(const Bounds& bounds, const std::vector<std::string>& tools) {
  CORDON_TRY(most, most_permitted(bounds, kDefaultWallMs));
  CORDON_TRY(longest, most_permitted(bounds, kLongestWallMs));
  const std::string& workspace = bounds.caller.cwd;
  Node place{NodeMap{}};
  place.set("path", sanitize(workspace))
      .set("readable", permitted(bounds, workspace, Wish::Read))
      .set("writable", permitted(bounds, workspace, Wish::Write));
  NodeList names;
  for (const std::string& tool : tools) names.emplace_back(tool);
  const bool variables = std::ranges::any_of(
      bounds.ceilings, [](const Ceiling& ceiling) { return ceiling.bounds_env; });
  Node node{NodeMap{}};
  node.set("workspace", std::move(place))
      .set("network", name_of(most.net.mode))
      .set("limits", limits_node(most))
      .set("process_wall_ms", number(longest.limits.wall_ms))
      .set("may_set_some_variables", variables)
      .set("a_ceiling_is_set", bounds.set_by_operator)
      .set("can_be_asked_for", NodeList{})
      .set("tools", std::move(names))
      .set(
          "help",
          "Which paths are allowed is not listed: attempt what you need and let the kernel decide. "
          "Only the operator can allow more.");
  return node;
}

}  // namespace cordon::mcp
