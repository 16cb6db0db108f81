// The registry as the protocol shows it: lists, capabilities, identity.
#pragma once

#include "mcp/server.h"

namespace cordon::mcp {

Node server_info(const ServerInfo& info);
Node server_capabilities(const Registry& registry, Era era);

// True for "tools/list" and its siblings.
bool is_list(std::string_view method);
// One page. The cursor is opaque to clients and good for any session: lists do not change.
Reply list_page(const Registry& registry, std::string_view method, const Node& params,
                std::size_t page);

}  // namespace cordon::mcp
