#include "mcp/full/limits_view.h"

#include <algorithm>

#include "base/text.h"
#include "mcp/tools/run_request.h"
#include "mcp/tools/schema.h"

namespace cordon::mcp {
namespace {

Node number_or_null(const std::optional<std::uint64_t>& value) {
  return value ? Node(*value) : Node();
}

Node limits_node(const Effective& effective) {
  const Limits& limits = effective.limits;
  Node node{NodeMap{}};
  node.set("wall_ms", number_or_null(limits.wall_ms))
      .set("memory_bytes", number_or_null(limits.memory))
      .set("processes", number_or_null(limits.pids))
      .set("open_files", number_or_null(limits.files))
      .set("file_bytes", number_or_null(limits.file_size))
      .set("temporary_bytes", number_or_null(effective.scratch));
  return node;
}

NodeList askable_kinds(const Bounds& bounds) {
  NodeList kinds;
  const auto add = [&](const char* kind, const auto& list) {
    const auto has = [&](const Ceiling& ceiling) { return !(ceiling.ask.*list).empty(); };
    if (bounds.can_ask && std::ranges::any_of(bounds.ceilings, has)) kinds.emplace_back(kind);
  };
  add("read", &AskRules::read);
  add("write", &AskRules::write);
  add("network", &AskRules::net);
  return kinds;
}

NodeList approvals_node(const Bounds& bounds) {
  NodeList list;
  for (const LiveApproval& live : bounds.approved) {
    Node node{NodeMap{}};
    node.set("approval", live.approval.id)
        .set("kind", kind_word(live.approval.kind))
        .set("target", sanitize(target_of(live.approval)))
        .set("expires_in_ms", live.left_ms);
    list.push_back(std::move(node));
  }
  return list;
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
      .set("process_wall_ms", number_or_null(longest.limits.wall_ms))
      .set("may_set_some_variables", variables)
      .set("a_ceiling_is_set", bounds.set_by_operator)
      .set("can_be_asked_for", askable_kinds(bounds))
      .set("approvals", approvals_node(bounds))
      .set("tools", std::move(names))
      .set(
          "help",
          "Which paths are allowed is not listed: attempt what you need and let the kernel decide. "
          "Only the operator can allow more.");
  return node;
}

}  // namespace cordon::mcp
