#include "faces/mcp/server.h"

#include <algorithm>

#include "faces/mcp/call.h"
#include "faces/mcp/envelope.h"
#include "faces/mcp/registry.h"

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
      pool_(limits.workers, limits.queued_calls),
      lasting_(limits.lasting_workers, limits.queued_calls) {}

bool Server::stop(std::chrono::milliseconds timeout) {
  const auto until = std::chrono::steady_clock::now() + timeout;
  const bool quick = pool_.stop(timeout);
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      until - std::chrono::steady_clock::now());
  const bool lasting = lasting_.stop(std::max(left, std::chrono::milliseconds(0)));
  return quick && lasting;
}

std::shared_ptr<Session> Server::open_session(std::string principal,
                                              std::shared_ptr<ResponseSink> push,
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
                    const std::shared_ptr<ResponseSink>& sink, Wire wire) {
  if (auto* request = std::get_if<RpcRequest>(&message)) {
    serve({session, sink, std::move(*request), Era::Legacy, {}, {}}, wire);
  } else if (const auto* notification = std::get_if<Notification>(&message)) {
    take_notification(*session, *notification);
  } else if (const auto* response = std::get_if<Response>(&message)) {
    session->take_response(*response);
  } else if (const auto* refused = std::get_if<Refused>(&message)) {
    // Before 2025-11-25 an error had to name the request it belongs to.
    const auto version = session->version();
    if (refused->id || !version || *version == kLegacyVersions.front()) {
      sink->answer(encode_error(refused->id, refused->error), refused->error.code);
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
  auto work = plan_work(exchange, registry_);
  if (!work) return answer(exchange, tl::make_unexpected(std::move(work).error()));
  start(std::move(exchange), std::move(*work));
}

void Server::answer(const Exchange& exchange, Reply reply) const {
  const Id& id = exchange.request.id;
  if (!reply) {
    exchange.sink->answer(encode_error(id, reply.error()), reply.error().code);
    return;
  }
  if (exchange.era == Era::Modern) {
    if (reply->find("resultType") == nullptr) reply->set("resultType", "complete");
    if (const auto lifetime = cache_lifetime_ms(exchange.request.method)) {
      reply->set("ttlMs", *lifetime).set("cacheScope", "private");
    }
    const Node* own = reply->find("_meta");
    Node meta = own != nullptr ? *own : Node(NodeMap{});
    meta.set(std::string(meta::kServerInfo), server_info(info_));
    *reply = without(*reply, "_meta").set("_meta", std::move(meta));
  }
  exchange.sink->answer(encode_result(id, std::move(*reply)), std::nullopt);
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

namespace {

// A call's way through a worker: the handler, the questions it asks, and the one answer.

// A handler that keeps asking new questions is broken; it must not hold a worker for ever.
constexpr int kMostRounds = 16;

std::optional<LogLevel> wanted_log_level(const Exchange& exchange) {
  if (exchange.era == Era::Legacy) return exchange.session->log_level();
  const std::string* level = text_member(exchange.meta, meta::kLogLevel);
  return level != nullptr ? log_level(*level) : std::nullopt;
}

}  // namespace

void Server::start(Exchange exchange, Work work) {
  auto answers = earlier_answers(exchange, work);
  if (!answers) return answer(exchange, tl::make_unexpected(std::move(answers).error()));
  const auto flight = exchange.session->enter(exchange.request.id, limits_.calls_in_flight);
  if (!flight && flight.error() == Session::Refusal::DuplicateId) {
    return answer(exchange,
                  tl::make_unexpected(RpcError{
                      code::kInvalidRequest, "a request with this id is in flight", std::nullopt}));
  }
  if (!flight) return answer(exchange, work.busy());
  exchange.request.params = Node();  // the work has what it needs of them, and they may be large
  const auto shared =
      std::make_shared<std::pair<Exchange, Work>>(std::move(exchange), std::move(work));
  WorkerPool& pool = shared->second.lasts ? lasting_ : pool_;
  const bool taken = pool.submit([this, shared, given = std::move(*answers), flight = *flight] {
    run(shared->first, shared->second, given, flight);
  });
  if (taken) return;
  const Exchange& refused = shared->first;
  if (refused.session->leave(refused.request.id, **flight)) answer(refused, shared->second.busy());
}

// What a modern client brings back to a call that asked it something.
tl::expected<NodeMap, RpcError> Server::earlier_answers(const Exchange& exchange,
                                                        const Work& work) {
  if (exchange.era == Era::Legacy) return NodeMap{};
  const Node* responses = exchange.request.params.find("inputResponses");
  const Node* token = exchange.request.params.find("requestState");
  if (responses != nullptr && responses->map() == nullptr) {
    return bad_params("inputResponses must be an object");
  }
  // Answers that come without a state of ours are answers to nothing: the handler asks again.
  if (token == nullptr) return NodeMap{};
  auto question = token->text() != nullptr
                      ? questions_.take(*token->text(), exchange.session->principal(), work.subject,
                                        digest_of(work.arguments))
                      : std::nullopt;
  if (!question)
    return bad_params("requestState is unknown, used or expired; call anew without it");
  NodeMap answers = std::move(question->answers);
  for (const std::string& key : question->keys) {
    const Node* given = responses != nullptr ? responses->find(key) : nullptr;
    if (given != nullptr) answers.emplace_back(key, *given);
  }
  return answers;
}

void Server::run(const Exchange& exchange, const Work& work, const NodeMap& answers,
                 const std::shared_ptr<Flight>& flight) {
  Call call({work.arguments, exchange.meta, exchange.client_capabilities,
             wanted_log_level(exchange), exchange.sink, flight, answers, exchange.request.id,
             exchange.session->client()});
  Reply reply = Node(NodeMap{});
  for (int round = 0; !flight->withheld; ++round) {
    reply = work.run(call);
    if (call.pending().empty() || flight->withheld) break;
    if (exchange.era == Era::Modern) {
      reply = input_required(exchange, work, call, answers);
      break;
    }
    if (round == kMostRounds) {
      reply = tl::make_unexpected(RpcError{code::kInternal, "too many questions", std::nullopt});
      break;
    }
    call.settle(ask_now(exchange, call, *flight));
  }
  if (exchange.session->leave(exchange.request.id, *flight)) {
    answer(exchange, std::move(reply));
  } else {
    exchange.sink->close();
  }
}

Reply Server::input_required(const Exchange& exchange, const Work& work, const Call& call,
                             const NodeMap& answers) {
  Node requests{NodeMap{}};
  OpenQuestion question{
      exchange.session->principal(), work.subject, digest_of(work.arguments), {}, answers};
  for (const auto& [key, request] : call.pending()) {
    Node entry{NodeMap{}};
    entry.set("method", request.method).set("params", request.params);
    requests.set(key, std::move(entry));
    question.keys.push_back(key);
  }
  const auto token = questions_.keep(std::move(question));
  if (!token) {
    return tl::make_unexpected(
        RpcError{code::kInternal, "the question cannot be kept", std::nullopt});
  }
  Node result{NodeMap{}};
  result.set("resultType", "input_required")
      .set("inputRequests", std::move(requests))
      .set("requestState", *token);
  return result;
}

NodeMap Server::ask_now(const Exchange& exchange, const Call& call, const Flight& flight) const {
  NodeMap answers;
  for (const auto& [key, request] : call.pending()) {
    auto given = exchange.session->ask(*exchange.sink, request.method, request.params, flight,
                                       limits_.answer_timeout);
    if (given) answers.emplace_back(key, std::move(*given));
  }
  return answers;
}

}  // namespace cordon::mcp
