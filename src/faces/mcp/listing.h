// The registry as the protocol shows it: lists in pages, capabilities, identity. Nothing of it
// starts anything.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "config/node.h"
#include "faces/mcp/envelope.h"
#include "faces/mcp/registry.h"
#include "faces/mcp/session.h"

namespace cordon::mcp {

struct ServerInfo {
  std::string name;
  std::string title;
  std::string version;
  std::string instructions;  // clients cut them at 2 KB
};

Node server_info(const ServerInfo& info);
Node server_capabilities(const Registry& registry, Era era);

// True for "tools/list" and its siblings.
bool is_list(std::string_view method);
// One page. The cursor is opaque to clients and good for any session: lists do not change.
Reply list_page(const Registry& registry, std::string_view method, const Node& params,
                std::size_t page);

}  // namespace cordon::mcp
