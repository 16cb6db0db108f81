#include "faces/mcp/call.h"

#include <algorithm>

#include "faces/mcp/envelope.h"
#include "faces/mcp/server.h"

namespace cordon::mcp {
namespace {

Node block(std::string_view type) {
  Node node{NodeMap{}};
  node.set("type", type);
  return node;
}

Node media_block(std::string_view type, std::string_view base64, std::string_view mime_type) {
  Node node = block(type);
  node.set("data", base64).set("mimeType", mime_type);
  return node;
}

}  // namespace

Node text_block(std::string_view text) {
  Node node = block("text");
  node.set("text", text);
  return node;
}

Node image_block(std::string_view base64, std::string_view mime_type) {
  return media_block("image", base64, mime_type);
}

Node audio_block(std::string_view base64, std::string_view mime_type) {
  return media_block("audio", base64, mime_type);
}

Node resource_block(std::string_view uri, std::string_view mime_type, std::string_view text) {
  Node resource{NodeMap{}};
  resource.set("uri", uri).set("mimeType", mime_type).set("text", text);
  Node node = block("resource");
  node.set("resource", std::move(resource));
  return node;
}

ToolResult ToolResult::text(std::string_view text) {
  return {{text_block(text)}, std::nullopt, false};
}

ToolResult ToolResult::failure(std::string_view text) {
  return {{text_block(text)}, std::nullopt, true};
}

PromptResult& PromptResult::say(Node block) {
  Node message{NodeMap{}};
  message.set("role", "user").set("content", std::move(block));
  messages.push_back(std::move(message));
  return *this;
}

namespace {

std::string_view capability_of(std::string_view method) {
  if (method == "elicitation/create") return "elicitation";
  if (method == "sampling/createMessage") return "sampling";
  if (method == "roots/list") return "roots";
  return {};
}

}  // namespace

bool can_be_asked(const Node& client_capabilities, std::string_view method) {
  const std::string_view name = capability_of(method);
  const Node* declared = name.empty() ? nullptr : client_capabilities.find(name);
  if (declared == nullptr || declared->map() == nullptr) return false;
  // An empty elicitation capability means forms; one that names other modes alone does not.
  return name != "elicitation" || declared->map()->empty() || declared->find("form") != nullptr;
}

Call::Call(Setup setup) : setup_(std::move(setup)) {}

bool Call::wants_progress() const {
  const Node* token = setup_.meta.find("progressToken");
  return token != nullptr &&
         (token->text() != nullptr || std::holds_alternative<std::int64_t>(token->value));
}

void Call::progress(double done, std::optional<double> total, std::string_view message) {
  const bool grown = !last_progress_ || done > *last_progress_;
  if (!wants_progress() || cancelled() || !grown) return;
  last_progress_ = done;
  Node params{NodeMap{}};
  params.set("progressToken", *setup_.meta.find("progressToken")).set("progress", done);
  if (total) params.set("total", *total);
  if (!message.empty()) params.set("message", message);
  setup_.sink->send(encode_notification("notifications/progress", std::move(params)),
                    Weight::Droppable);
}

void Call::log(LogLevel level, std::string_view logger, Node data) {
  if (!setup_.log_level || level < *setup_.log_level || cancelled()) return;
  Node params{NodeMap{}};
  params.set("level", name_of(level)).set("logger", logger).set("data", std::move(data));
  setup_.sink->send(encode_notification("notifications/message", std::move(params)),
                    Weight::Droppable);
}

Answer Call::ask(const std::string& key, InputRequest request) {
  if (!can_be_asked(setup_.client_capabilities, request.method)) return {};
  const auto given =
      std::ranges::find_if(setup_.answers, [&](const auto& answer) { return answer.first == key; });
  if (given != setup_.answers.end()) {
    if (given->second.map() == nullptr) return {};
    return {Answer::State::Given, given->second};
  }
  if (std::ranges::find(settled_, key) != settled_.end()) return {};
  const auto asked = [&](const auto& question) { return question.first == key; };
  if (std::ranges::none_of(pending_, asked)) pending_.emplace_back(key, std::move(request));
  return {Answer::State::Pending, {}};
}

Elicited Call::elicit(const std::string& key, std::string_view message, Node schema) {
  Node params{NodeMap{}};
  params.set("message", message).set("requestedSchema", std::move(schema));
  const Answer answer = ask(key, {"elicitation/create", std::move(params)});
  if (answer.state == Answer::State::Pending) return {Elicited::Decision::Pending, {}};
  const Node* action = answer.value.find("action");
  const Node* content = answer.value.find("content");
  // A form without fields is accepted with nothing.
  const bool accepted = answer.state == Answer::State::Given && action != nullptr &&
                        action->text() != nullptr && *action->text() == "accept" &&
                        (content == nullptr || content->map() != nullptr);
  if (!accepted) return {};
  return {Elicited::Decision::Accepted, content == nullptr ? Node(NodeMap{}) : *content};
}

void Call::settle(NodeMap answers) {
  for (const auto& [key, request] : pending_) settled_.push_back(key);
  pending_.clear();
  for (auto& answer : answers) setup_.answers.push_back(std::move(answer));
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
                                       limits_.answer_patience);
    if (given) answers.emplace_back(key, std::move(*given));
  }
  return answers;
}

}  // namespace cordon::mcp
