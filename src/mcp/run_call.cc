// A call's way through a worker: the handler, the questions it asks, and the one answer.
#include <algorithm>

#include "mcp/envelope.h"
#include "mcp/members.h"
#include "mcp/server.h"

namespace cordon::mcp {
namespace {

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
  const bool taken = pool_.submit([this, shared, given = std::move(*answers), flight = *flight] {
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
             wanted_log_level(exchange), exchange.outlet, flight, answers, exchange.request.id,
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
    exchange.outlet->close();
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
    auto given = exchange.session->ask(*exchange.outlet, request.method, request.params, flight,
                                       limits_.answer_patience);
    if (given) answers.emplace_back(key, std::move(*given));
  }
  return answers;
}

}  // namespace cordon::mcp
