#include "faces/mcp/server.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "base/sha256.h"
#include "base/text.h"
#include "faces/mcp/call.h"
#include "faces/mcp/envelope.h"
#include "faces/mcp/registry.h"

namespace cordon::mcp {
namespace {

constexpr std::size_t kMaxOpen = 256;
constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 10U;
constexpr std::chrono::seconds kLifetime{120};

void sort_members(Node& node) {
  if (auto* list = std::get_if<NodeList>(&node.value)) {
    for (Node& item : *list) sort_members(item);
  }
  if (auto* map = std::get_if<NodeMap>(&node.value)) {
    for (auto& [name, member] : *map) sort_members(member);
    std::ranges::sort(*map, {},
                      [](const auto& member) -> const std::string& { return member.first; });
  }
}

}  // namespace

std::optional<std::string> random_token() {
  std::array<unsigned char, 32> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return std::nullopt;
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string token;
  for (const unsigned char byte : bytes) {
    token.append(1, kDigits[byte >> 4U]).append(1, kDigits[byte & 0xFU]);
  }
  return token;
}

std::string digest_of(const Node& arguments) {
  Node sorted = arguments;
  sort_members(sorted);
  return sha256_hex(write_json(sorted, JsonStyle::Compact));
}

std::optional<std::string> OpenQuestions::keep(OpenQuestion question) {
  if (write_json(Node(question.answers), JsonStyle::Compact).size() > kMaxAnswerBytes) {
    return std::nullopt;
  }
  auto token = random_token();
  if (!token) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (entries_.size() >= kMaxOpen) entries_.pop_front();
  entries_.push_back({*token, std::chrono::steady_clock::now() + kLifetime, std::move(question)});
  return token;
}

std::optional<OpenQuestion> OpenQuestions::take(std::string_view token, std::string_view principal,
                                                std::string_view subject,
                                                std::string_view arguments_digest) {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(entries_, [&](const Entry& entry) { return entry.expires <= now; });
  const auto found =
      std::ranges::find_if(entries_, [&](const Entry& entry) { return entry.token == token; });
  if (found == entries_.end()) return std::nullopt;
  OpenQuestion question = std::move(found->question);
  entries_.erase(found);  // also if it does not fit: a token is tried once
  if (question.principal != principal || question.subject != subject ||
      question.arguments_digest != arguments_digest) {
    return std::nullopt;
  }
  return question;
}

WorkerPool::WorkerPool(std::size_t threads, std::size_t queue)
    : max_threads_(threads), max_queue_(queue) {}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    queue_.clear();
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool WorkerPool::submit(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (stopped_ || queue_.size() >= max_queue_) return false;
  queue_.push_back(std::move(work));
  if (busy_ + queue_.size() > threads_.size() && threads_.size() < max_threads_) start_thread();
  wake_.notify_one();
  return true;
}

bool WorkerPool::stop(std::chrono::milliseconds deadlines) {
  std::unique_lock lock(mutex_);
  stopped_ = true;
  queue_.clear();
  wake_.notify_all();
  return quiet_.wait_for(lock, deadlines, [&] { return busy_ == 0; });
}

// Signals belong to the thread that serves: one that were delivered here would end the process.
void WorkerPool::start_thread() {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  threads_.emplace_back([this] { work(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void WorkerPool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stopped_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::function<void()> next = std::move(queue_.front());
    queue_.pop_front();
    ++busy_;
    lock.unlock();
    next();
    next = nullptr;  // what it held goes before the pool counts as quiet
    lock.lock();
    --busy_;
    if (busy_ == 0) quiet_.notify_all();
  }
}

namespace {

// What a tools/call, prompts/get, resources/read or completion/complete asks for, checked before a
// worker sees it.

Reply busy_error() {
  return tl::make_unexpected(
      RpcError{code::kInternal, "too many calls in flight; try again later", std::nullopt});
}

Node encode(ToolResult result) {
  Node node{NodeMap{}};
  node.set("content", std::move(result.content));
  if (result.structured) node.set("structuredContent", std::move(*result.structured));
  node.set("isError", result.is_error);
  if (result.meta) node.set("_meta", std::move(*result.meta));
  return node;
}

struct Named {
  std::string name;
  Node arguments;
};
tl::expected<Named, RpcError> named(const Node& params) {
  const std::string* name = text_member(params, "name");
  const Node* arguments = params.find("arguments");
  if (name == nullptr) return bad_params("name must be a string");
  if (arguments != nullptr && arguments->map() == nullptr) {
    return bad_params("arguments must be an object");
  }
  return Named{*name, arguments != nullptr ? *arguments : Node(NodeMap{})};
}

NodeMap missing_capabilities(const Tool& tool, const Node& client_capabilities) {
  NodeMap missing;
  for (const std::string& name : tool.needs) {
    if (client_capabilities.find(name) == nullptr) missing.emplace_back(name, NodeMap{});
  }
  return missing;
}

std::optional<RpcError> check_prompt(const Prompt& prompt, const Node& arguments) {
  const NodeMap* given = arguments.map();
  for (const auto& [name, value] : given != nullptr ? *given : NodeMap{}) {
    const auto known = [&wanted = name](const PromptArgument& argument) {
      return argument.name == wanted;
    };
    if (value.text() == nullptr || std::ranges::none_of(prompt.arguments, known)) {
      return RpcError{code::kInvalidParams, "arguments of a prompt are the listed ones, as strings",
                      std::nullopt};
    }
  }
  for (const PromptArgument& argument : prompt.arguments) {
    if (argument.required && arguments.find(argument.name) == nullptr) {
      return RpcError{code::kInvalidParams, "argument " + argument.name + " is required",
                      std::nullopt};
    }
  }
  return std::nullopt;
}

RpcError resource_not_found(Era era, const std::string& uri) {
  Node data{NodeMap{}};
  data.set("uri", uri);
  return {era == Era::Modern ? code::kInvalidParams : code::kLegacyResourceNotFound,
          "resource not found", std::move(data)};
}

}  // namespace

tl::expected<Server::Work, RpcError> Server::plan_tool(const Exchange& exchange) const {
  auto call = named(exchange.request.params);
  if (!call) return tl::make_unexpected(std::move(call).error());
  const Tool* tool = registry_.find_tool(call->name);
  if (tool == nullptr) return bad_params("unknown tool");
  const NodeMap missing = missing_capabilities(*tool, exchange.client_capabilities);
  if (!missing.empty() && exchange.era == Era::Modern) {
    Node data{NodeMap{}};
    data.set("requiredCapabilities", missing);
    return tl::make_unexpected(
        RpcError{code::kMissingCapability, "the client lacks a capability", std::move(data)});
  }
  std::optional<std::string> fault;
  if (!missing.empty()) {
    fault = "this client lacks a capability the tool needs: " + missing.front().first;
  } else {
    fault = check_arguments(tool->input_schema, call->arguments);
  }
  Work work;
  work.lasts = tool->lasts;
  work.subject = "tools/call " + call->name;
  work.arguments = std::move(call->arguments);
  work.busy = [] {
    return encode(ToolResult::failure("too many calls in flight; wait for one to end"));
  };
  work.run = [tool, fault](Call& running) -> Reply {
    // A result, not an error: the model reads it and can fix its call.
    if (fault && tool->refuse) return encode(tool->refuse(running, *fault));
    if (fault) return encode(ToolResult::failure("invalid arguments: " + *fault));
    return encode(tool->handler(running));
  };
  return work;
}

tl::expected<Server::Work, RpcError> Server::plan_prompt(const Exchange& exchange) const {
  auto call = named(exchange.request.params);
  if (!call) return tl::make_unexpected(std::move(call).error());
  const Prompt* prompt = registry_.find_prompt(call->name);
  if (prompt == nullptr) return bad_params("unknown prompt");
  if (auto fault = check_prompt(*prompt, call->arguments)) {
    return tl::make_unexpected(std::move(*fault));
  }
  Work work;
  work.subject = "prompts/get " + call->name;
  work.arguments = std::move(call->arguments);
  work.busy = busy_error;
  work.run = [prompt](Call& running) -> Reply {
    PromptResult result = prompt->handler(running);
    Node node{NodeMap{}};
    if (!result.description.empty()) node.set("description", result.description);
    node.set("messages", std::move(result.messages));
    return node;
  };
  return work;
}

tl::expected<Server::Work, RpcError> Server::plan_read(const Exchange& exchange) const {
  const std::string* wanted = text_member(exchange.request.params, "uri");
  if (wanted == nullptr) return bad_params("uri must be a string");
  const std::string uri = *wanted;
  auto found = find_resource(registry_, uri);
  if (!found) return tl::make_unexpected(resource_not_found(exchange.era, uri));
  Work work;
  work.subject = "resources/read " + uri;
  work.arguments = std::move(found->variables);
  work.busy = busy_error;
  work.run = [reader = found->reader, uri, era = exchange.era](Call& running) -> Reply {
    auto text = (*reader)(running);
    if (!text) return tl::make_unexpected(resource_not_found(era, uri));
    Node content{NodeMap{}};
    content.set("uri", uri).set("mimeType", text->mime_type);
    if (text->base64) {
      content.set("blob", *text->base64);
    } else {
      content.set("text", text->text);
    }
    Node node{NodeMap{}};
    node.set("contents", NodeList{std::move(content)});
    return node;
  };
  return work;
}

tl::expected<Server::Work, RpcError> Server::plan_completion(const Exchange& exchange) const {
  const Node& params = exchange.request.params;
  const Node* reference = params.find("ref");
  const Node* argument = params.find("argument");
  if (reference == nullptr || argument == nullptr) {
    return bad_params("completion needs ref and argument");
  }
  const std::string* type = text_member(*reference, "type");
  const std::string* owner =
      text_member(*reference, type != nullptr && *type == "ref/prompt" ? "name" : "uri");
  const std::string* name = text_member(*argument, "name");
  const std::string* typed = text_member(*argument, "value");
  if (owner == nullptr || name == nullptr || typed == nullptr) {
    return bad_params("completion needs ref and argument");
  }
  Work work;
  work.subject = "completion/complete";
  work.arguments = Node(NodeMap{});
  work.busy = busy_error;
  work.run = [this, owner = *owner, name = *name, typed = *typed](Call&) -> Reply {
    constexpr std::size_t kMostValues = 100;  // the protocol's bound
    const std::vector<std::string> all = registry_.completer(owner, name, typed);
    NodeList values;
    for (const std::string& value : all) {
      if (values.size() < kMostValues) values.emplace_back(value);
    }
    Node completion{NodeMap{}};
    completion.set("values", std::move(values))
        .set("total", all.size())
        .set("hasMore", all.size() > kMostValues);
    Node node{NodeMap{}};
    node.set("completion", std::move(completion));
    return node;
  };
  return work;
}

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

bool Server::stop(std::chrono::milliseconds deadlines) {
  const auto until = std::chrono::steady_clock::now() + deadlines;
  const bool quick = pool_.stop(deadlines);
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

void set_if(Node& node, const char* key, const std::string& text) {
  if (!text.empty()) node.set(key, text);
}

Node describe(const Tool& tool) {
  Node hints{NodeMap{}};
  set_if(hints, "title", tool.title);
  hints.set("readOnlyHint", tool.annotations.read_only)
      .set("destructiveHint", tool.annotations.destructive)
      .set("idempotentHint", tool.annotations.idempotent)
      .set("openWorldHint", tool.annotations.open_world);
  Node node{NodeMap{}};
  node.set("name", tool.name);
  set_if(node, "title", tool.title);
  node.set("description", tool.description).set("inputSchema", tool.input_schema);
  if (tool.output_schema) node.set("outputSchema", *tool.output_schema);
  node.set("annotations", std::move(hints));
  if (tool.meta.map() != nullptr) node.set("_meta", tool.meta);
  return node;
}

template <typename T>
Node describe_source(const T& source, const char* key, const std::string& uri) {
  Node node{NodeMap{}};
  node.set(key, uri).set("name", source.name).set("description", source.description);
  set_if(node, "mimeType", source.mime_type);
  return node;
}

Node describe(const Resource& resource) { return describe_source(resource, "uri", resource.uri); }

Node describe(const ResourceTemplate& entry) {
  return describe_source(entry, "uriTemplate", entry.uri_template);
}

Node describe(const Prompt& prompt) {
  Node node{NodeMap{}};
  node.set("name", prompt.name);
  set_if(node, "title", prompt.title);
  node.set("description", prompt.description);
  NodeList arguments;
  for (const PromptArgument& argument : prompt.arguments) {
    Node entry{NodeMap{}};
    entry.set("name", argument.name)
        .set("description", argument.description)
        .set("required", argument.required);
    arguments.push_back(std::move(entry));
  }
  if (!arguments.empty()) node.set("arguments", std::move(arguments));
  return node;
}

// "tools@100": the list and where its next page begins.
std::optional<std::size_t> page_start(const Node& params, const std::string& key,
                                      std::size_t entries) {
  const Node* cursor = params.find("cursor");
  if (cursor == nullptr) return 0;
  const std::string* text = cursor->text();
  if (text == nullptr || !text->starts_with(key + "@")) return std::nullopt;
  const auto start = parse_number(std::string_view(*text).substr(key.size() + 1));
  if (!start || *start == 0 || *start >= entries) return std::nullopt;
  return static_cast<std::size_t>(*start);
}

template <typename T>
Reply page_of(const std::vector<T>& entries, const std::string& key, const Node& params,
              std::size_t page) {
  const auto start = page_start(params, key, entries.size());
  if (!start) {
    return tl::make_unexpected(
        RpcError{code::kInvalidParams, "unknown cursor; list again without one", std::nullopt});
  }
  const std::size_t end = std::min(entries.size(), *start + page);
  NodeList listed;
  for (std::size_t i = *start; i < end; ++i) listed.push_back(describe(entries[i]));
  Node result{NodeMap{}};
  result.set(key, std::move(listed));
  if (end < entries.size()) result.set("nextCursor", key + "@" + std::to_string(end));
  return result;
}

}  // namespace

Node server_info(const ServerInfo& info) {
  Node node{NodeMap{}};
  node.set("name", info.name);
  set_if(node, "title", info.title);
  node.set("version", info.version);
  return node;
}

Node server_capabilities(const Registry& registry, Era era) {
  Node node{NodeMap{}};
  node.set("tools", NodeMap{});
  if (!registry.resources.empty() || !registry.templates.empty()) {
    Node resources{NodeMap{}};
    if (era == Era::Legacy && registry.resource_subscriptions) resources.set("subscribe", true);
    node.set("resources", std::move(resources));
  }
  if (!registry.prompts.empty()) node.set("prompts", NodeMap{});
  if (registry.completer) node.set("completions", NodeMap{});
  if (registry.logging) node.set("logging", NodeMap{});
  return node;
}

bool is_list(std::string_view method) {
  return method == "tools/list" || method == "resources/list" ||
         method == "resources/templates/list" || method == "prompts/list";
}

Reply list_page(const Registry& registry, std::string_view method, const Node& params,
                std::size_t page) {
  if (method == "resources/list") return page_of(registry.resources, "resources", params, page);
  if (method == "resources/templates/list") {
    return page_of(registry.templates, "resourceTemplates", params, page);
  }
  if (method == "prompts/list") return page_of(registry.prompts, "prompts", params, page);
  return page_of(registry.tools, "tools", params, page);
}

}  // namespace cordon::mcp
