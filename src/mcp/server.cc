#include "mcp/server.h"

#include <algorithm>

#include "mcp/describe.h"
#include "mcp/members.h"

namespace cordon::mcp {
namespace {

tl::unexpected<RpcError> error(int code, std::string message) {
  return tl::make_unexpected(RpcError{code, std::move(message), std::nullopt});
}

// Methods that exist whatever is registered come first; the rest belong to what is declared.
bool is_known(const Registry& registry, const std::string& method, Era era) {
  if (method == "tools/list" || method == "tools/call") return true;
  if (era == Era::Modern && method == "server/discover") return true;
  if (era == Era::Legacy && (method == "initialize" || method == "ping")) return true;
  if (method.starts_with("prompts/")) {
    return !registry.prompts.empty() && (method == "prompts/list" || method == "prompts/get");
  }
  if (method == "resources/list" || method == "resources/templates/list" ||
      method == "resources/read") {
    return !registry.resources.empty() || !registry.templates.empty();
  }
  if (method == "completion/complete") return static_cast<bool>(registry.completer);
  if (era == Era::Modern) return false;
  if (method == "logging/setLevel") return registry.logging;
  return registry.resource_subscriptions &&
         (method == "resources/subscribe" || method == "resources/unsubscribe");
}

// Lists change with the server's version only; what a resource holds may change at any time.
std::optional<std::int64_t> cache_lifetime_ms(std::string_view method) {
  if (method == "server/discover" || is_list(method)) return 3'600'000;
  if (method == "resources/read") return 0;
  return std::nullopt;
}

}  // namespace

Server::Server(ServerInfo info, Registry registry, ServerLimits limits)
    : info_(std::move(info)),
      registry_(std::move(registry)),
      limits_(limits),
      pool_(limits.workers, limits.queued_calls) {}

std::shared_ptr<Session> Server::open_session(std::string principal, std::shared_ptr<Outlet> push,
                                              std::shared_ptr<Client> client) {
  const bool listens = push != nullptr;
  auto session =
      std::make_shared<Session>(std::move(principal), std::move(push), std::move(client));
  if (listens) {
    const std::lock_guard lock(sessions_mutex_);
    std::erase_if(sessions_, [](const auto& known) { return known.expired(); });
    sessions_.push_back(session);
  }
  return session;
}

void Server::resource_changed(const std::string& uri) {
  Node params{NodeMap{}};
  params.set("uri", uri);
  const std::string message =
      encode_notification("notifications/resources/updated", std::move(params));
  const std::lock_guard lock(sessions_mutex_);
  for (const auto& known : sessions_) {
    if (const auto session = known.lock()) session->push_if_subscribed(uri, message);
  }
}

void Server::accept(const std::shared_ptr<Session>& session, Envelope message,
                    const std::shared_ptr<Outlet>& outlet, Wire wire) {
  if (auto* request = std::get_if<RpcRequest>(&message)) {
    serve({session, outlet, std::move(*request), Era::Legacy, {}, {}}, wire);
  } else if (const auto* notification = std::get_if<Notification>(&message)) {
    take_notification(*session, *notification);
  } else if (const auto* response = std::get_if<Response>(&message)) {
    session->take_response(*response);
  } else if (const auto* refused = std::get_if<Refused>(&message)) {
    // Before 2025-11-25 an error had to name the request it belongs to.
    const auto version = session->version();
    if (refused->id || !version || *version == kLegacyVersions.front()) {
      outlet->answer(encode_error(refused->id, refused->error), refused->error.code);
    }
  }
}

void Server::take_notification(Session& session, const Notification& notification) {
  if (notification.method != "notifications/cancelled") return;
  const Node* id = notification.params.find("requestId");
  if (id == nullptr) return;
  if (const std::string* text = id->text()) session.cancel(Id(*text));
  if (const auto* number = std::get_if<std::int64_t>(&id->value)) session.cancel(Id(*number));
}

tl::expected<void, RpcError> Server::settle_era(Exchange& exchange, Wire wire) const {
  const Node* meta = exchange.request.params.find("_meta");
  if (meta != nullptr && meta->map() == nullptr) {
    return error(code::kInvalidParams, "_meta must be an object");
  }
  if (meta != nullptr) exchange.meta = *meta;
  const Node* version = exchange.meta.find(meta::kVersion);
  const bool modern = wire == Wire::Modern ||
                      (wire == Wire::Either &&
                       (version != nullptr || exchange.request.method == "server/discover"));
  exchange.era = modern ? Era::Modern : Era::Legacy;
  if (!modern) {
    exchange.client_capabilities = exchange.session->capabilities();
    return {};
  }
  const std::string* named = text_member(exchange.meta, meta::kVersion);
  const NodeMap* capabilities = map_member(exchange.meta, meta::kCapabilities);
  if (named == nullptr || capabilities == nullptr) {
    return error(code::kInvalidParams, "_meta must name " + std::string(meta::kVersion) + " and " +
                                           std::string(meta::kCapabilities));
  }
  if (*named != kModernVersion) {
    Node data{NodeMap{}};
    data.set("supported", NodeList{Node(kModernVersion)}).set("requested", *named);
    return tl::make_unexpected(
        RpcError{code::kUnsupportedVersion, "unsupported protocol version", std::move(data)});
  }
  exchange.client_capabilities = Node(*capabilities);
  return {};
}

void Server::serve(Exchange exchange, Wire wire) {
  if (auto settled = settle_era(exchange, wire); !settled) {
    return answer(exchange, tl::make_unexpected(std::move(settled).error()));
  }
  const std::string& method = exchange.request.method;
  if (!is_known(registry_, method, exchange.era)) {
    return answer(exchange, error(code::kMethodNotFound, "method not found"));
  }
  const bool before_handshake = exchange.era == Era::Legacy && !exchange.session->version();
  if (before_handshake && method != "initialize" && method != "ping" && !is_list(method)) {
    return answer(exchange, error(code::kInvalidRequest, "initialize first"));
  }
  dispatch(std::move(exchange));
}

void Server::dispatch(Exchange exchange) {
  const std::string& method = exchange.request.method;
  if (is_list(method)) {
    return answer(exchange, list_page(registry_, method, exchange.request.params, limits_.page));
  }
  if (method == "ping") return answer(exchange, Node(NodeMap{}));
  if (method == "server/discover") return answer(exchange, discover());
  if (method == "initialize") return answer(exchange, initialize(exchange));
  if (method == "logging/setLevel") return answer(exchange, set_log_level(exchange));
  if (method == "resources/subscribe" || method == "resources/unsubscribe") {
    return answer(exchange, change_subscription(exchange));
  }
  auto work = method == "tools/call"       ? plan_tool(exchange)
              : method == "prompts/get"    ? plan_prompt(exchange)
              : method == "resources/read" ? plan_read(exchange)
                                           : plan_completion(exchange);
  if (!work) return answer(exchange, tl::make_unexpected(std::move(work).error()));
  start(std::move(exchange), std::move(*work));
}

void Server::answer(const Exchange& exchange, Reply reply) const {
  const Id& id = exchange.request.id;
  if (!reply) {
    exchange.outlet->answer(encode_error(id, reply.error()), reply.error().code);
    return;
  }
  if (exchange.era == Era::Modern) {
    if (reply->find("resultType") == nullptr) reply->set("resultType", "complete");
    if (const auto lifetime = cache_lifetime_ms(exchange.request.method)) {
      reply->set("ttlMs", *lifetime).set("cacheScope", "private");
    }
    Node meta{NodeMap{}};
    meta.set(std::string(meta::kServerInfo), server_info(info_));
    reply->set("_meta", std::move(meta));
  }
  exchange.outlet->answer(encode_result(id, std::move(*reply)), std::nullopt);
}

Reply Server::discover() const {
  Node result{NodeMap{}};
  result.set("supportedVersions", NodeList{Node(kModernVersion)})
      .set("capabilities", server_capabilities(registry_, Era::Modern));
  if (!info_.instructions.empty()) result.set("instructions", info_.instructions);
  return result;
}

Reply Server::initialize(const Exchange& exchange) const {
  const Node& params = exchange.request.params;
  const std::string* wanted = text_member(params, "protocolVersion");
  const Node* capabilities = params.find("capabilities");
  if (wanted == nullptr || (capabilities != nullptr && capabilities->map() == nullptr)) {
    return error(code::kInvalidParams, "initialize needs protocolVersion and capabilities");
  }
  const auto known = std::ranges::find(kLegacyVersions, std::string_view(*wanted));
  const std::string version(known != kLegacyVersions.end() ? *known : kLegacyVersions.front());
  if (!exchange.session->negotiate(version,
                                   capabilities != nullptr ? *capabilities : Node(NodeMap{}))) {
    return error(code::kInvalidRequest, "calls are in flight; initialize again when they are done");
  }
  Node result{NodeMap{}};
  result.set("protocolVersion", version)
      .set("capabilities", server_capabilities(registry_, Era::Legacy))
      .set("serverInfo", server_info(info_));
  if (!info_.instructions.empty()) result.set("instructions", info_.instructions);
  return result;
}

Reply Server::set_log_level(const Exchange& exchange) const {
  const std::string* name = text_member(exchange.request.params, "level");
  const auto level = name != nullptr ? log_level(*name) : std::nullopt;
  if (!level) return error(code::kInvalidParams, "unknown log level");
  exchange.session->set_log_level(*level);
  return Node(NodeMap{});
}

Reply Server::change_subscription(const Exchange& exchange) const {
  const std::string* uri = text_member(exchange.request.params, "uri");
  if (uri == nullptr || !find_resource(registry_, *uri)) {
    return error(code::kInvalidParams, "uri names no resource");
  }
  if (exchange.request.method == "resources/unsubscribe") {
    exchange.session->unsubscribe(*uri);
  } else if (!exchange.session->subscribe(*uri)) {
    return error(code::kInvalidParams, "too many subscriptions");
  }
  return Node(NodeMap{});
}

}  // namespace cordon::mcp
