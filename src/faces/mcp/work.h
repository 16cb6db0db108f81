// Work: the part of a request that a worker does. What a request asks for is checked against the
// registry before a worker sees it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "config/node.h"
#include "faces/mcp/call.h"
#include "faces/mcp/envelope.h"
#include "faces/mcp/registry.h"
#include "faces/mcp/session.h"

namespace cordon::mcp {

// One request on its way through the server.
struct Exchange {
  std::shared_ptr<Session> session;
  std::shared_ptr<ResponseSink> sink;
  RpcRequest request;
  Era era = Era::Legacy;
  Node client_capabilities;
  Node meta;  // a map, or null
};

struct Work {
  std::string subject;  // what answers to questions are bound to
  Node arguments;
  std::function<Reply(Call&)> run;
  std::function<Reply()> busy;  // the answer when there is no room
  bool lasts = false;           // Tool::lasts
};

// Of a tools/call, prompts/get, resources/read or completion/complete. It refers to the registry.
tl::expected<Work, RpcError> plan_work(const Exchange& exchange, const Registry& registry);

}  // namespace cordon::mcp
