// A whole conversation, one message per line, with a server that has one tool. Every request is
// answered at most once, in one line of JSON.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

#include "base/text.h"
#include "faces/mcp/server.h"
#include "require_that.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace cordon;
using namespace cordon::mcp;

class Counter final : public ResponseSink {
 public:
  void send(std::string message, Weight) override { check(message); }
  void answer(std::string message, std::optional<int>) override {
    check(message);
    ++answers_;
  }
  void close() override { ++answers_; }
  [[nodiscard]] int answers() const { return answers_; }

 private:
  static void check(const std::string& message) {
    require_that(message.find('\n') == std::string::npos);
    require_that(read_json_message(message, kMessageBounds).has_value());
  }
  std::atomic<int> answers_ = 0;
};

Registry one_of_each() {
  Registry registry;
  Tool tool;
  tool.name = "t";
  tool.description = "d";
  tool.input_schema = *read_json(
      R"({"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false})",
      "s");
  tool.handler = [](Call& call) {
    call.progress(1, 2, "p");
    const Elicited asked = call.elicit("k", "?", Node(NodeMap{}));
    if (asked.decision == Elicited::Decision::Pending) return ToolResult{};
    return ToolResult::text(write_json(call.arguments(), JsonStyle::Compact));
  };
  registry.tools.push_back(std::move(tool));
  registry.templates.push_back({"r://{x}", "r", "d", "text/plain", [](Call&) {
                                  return ResourceText{"text/plain", "x", {}};
                                }});
  registry.prompts.push_back({"p", "", "d", {{"a", "d", true}}, [](Call&) {
                                return PromptResult().say(text_block("x"));
                              }});
  registry.completer = [](auto, auto, auto) { return std::vector<std::string>{"v"}; };
  registry.logging = true;
  registry.resource_subscriptions = true;
  return registry;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ServerLimits limits;
  limits.workers = 1;
  limits.answer_timeout = std::chrono::milliseconds(1);
  const std::string text(data, data + size);
  std::vector<std::shared_ptr<Counter>> requests;
  {
    Server server({"fuzz", "", "1", ""}, one_of_each(), limits);
    const auto push = std::make_shared<Counter>();
    const auto session = server.open_session("fuzz", push, std::make_shared<Client>());
    for (const std::string_view line : split(text, '\n')) {
      Envelope message = decode_envelope(line);
      const auto sink = std::make_shared<Counter>();
      if (std::holds_alternative<RpcRequest>(message)) requests.push_back(sink);
      server.accept(session, std::move(message), sink, Wire::Either);
    }
    session->cancel_all();
    require_that(server.stop(std::chrono::seconds(5)));
  }
  // Calls that were still waiting for a worker at the end are dropped with the server.
  for (const auto& sink : requests) require_that(sink->answers() <= 1);
  return 0;
}
