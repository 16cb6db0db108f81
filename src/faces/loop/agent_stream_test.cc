#include "faces/loop/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon::loop {
namespace {

using ::testing::ElementsAre;
using Events = std::vector<AgentEvent>;

Events read(StreamForm form, std::string_view bytes, std::size_t step) {
  Events events;
  AgentStream stream(form, [&](AgentEvent event) { events.push_back(std::move(event)); });
  while (!bytes.empty()) {
    stream.add(bytes.substr(0, step));
    bytes.remove_prefix(std::min(step, bytes.size()));
  }
  stream.finish();
  return events;
}

constexpr std::string_view kClaude =
    R"({"type":"system","subtype":"init","tools":[]}
{"type":"assistant","message":{"content":[{"type":"text","text":"I look."},{"type":"tool_use","name":"Bash","input":{"command":"ls"}}]}}
not json at all
{"type":"user","message":{"content":[{"type":"tool_result","content":"x"}]}}
{"type":"result","is_error":false,"total_cost_usd":0.25,"usage":{"input_tokens":10,"output_tokens":5},"result":"done"})";

TEST(AgentStream, IsTheSameHoweverTheBytesCome) {
  for (const std::size_t step : {1U, 7U, 64U, 4096U}) {
    EXPECT_THAT(
        read(StreamForm::Claude, kClaude, step),
        ElementsAre(AgentEvent(Said{"I look."}), AgentEvent(UsedTool{"Bash", "ls"}),
                    AgentEvent(Unreadable{"not json at all"}), AgentEvent(ToolAnswered{false, "x"}),
                    AgentEvent(Spent{15, 250'000}), AgentEvent(Claimed{true, "done"})))
        << step;
  }
}

TEST(AgentStream, KnowsTheOtherForms) {
  EXPECT_THAT(read(StreamForm::Codex,
                   R"({"type":"item.started","item":{"type":"command_execution","command":"ls"}}
{"type":"item.completed","item":{"type":"command_execution","aggregated_output":"no\n","exit_code":2,"status":"failed"}}
{"type":"item.completed","item":{"type":"agent_message","text":"hello"}}
{"type":"turn.completed","usage":{"input_tokens":3,"output_tokens":4}}
{"type":"turn.failed","error":{"message":"no"}}
)",
                   5),
              ElementsAre(AgentEvent(UsedTool{"command_execution", "ls"}),
                          AgentEvent(ToolAnswered{true, "no\n"}), AgentEvent(Said{"hello"}),
                          AgentEvent(Spent{7, 0}), AgentEvent(Claimed{true, ""}),
                          AgentEvent(Claimed{false, "no"})));
  EXPECT_THAT(read(StreamForm::Gemini,
                   R"({"type":"message","role":"assistant","content":"hi"}
{"type":"tool_use","tool_name":"shell","parameters":{"command":"ls"}}
{"type":"tool_result","status":"error","output":"no"}
{"type":"result","status":"success","stats":{"total_tokens":9}}
)",
                   5),
              ElementsAre(AgentEvent(Said{"hi"}), AgentEvent(UsedTool{"shell", "ls"}),
                          AgentEvent(ToolAnswered{true, "no"}), AgentEvent(Spent{9, 0}),
                          AgentEvent(Claimed{true, ""})));
  EXPECT_THAT(read(StreamForm::Copilot,
                   R"({"type":"session.tools_updated","data":{"model":"m"}}
{"type":"assistant.message","data":{"content":"","toolRequests":[{"name":"bash"}]}}
{"type":"tool.execution_start","data":{"toolName":"bash","arguments":{"command":"ls"}}}
{"type":"tool.execution_complete","data":{"success":true,"result":{"content":"a\nb"}}}
{"type":"assistant.message","data":{"content":"hi"}}
{"type":"result","exitCode":0,"usage":{"premiumRequests":0}}
{"type":"result","exitCode":1}
)",
                   5),
              ElementsAre(AgentEvent(UsedTool{"bash", "ls"}),
                          AgentEvent(ToolAnswered{false, "a\nb"}), AgentEvent(Said{"hi"}),
                          AgentEvent(Claimed{true, ""}), AgentEvent(Claimed{false, ""})));
  EXPECT_THAT(read(StreamForm::Text, "one\ntwo", 1),
              ElementsAre(AgentEvent(Said{"one"}), AgentEvent(Said{"two"})));
}

// A stream decides nothing, but its numbers are held against budgets.
TEST(AgentStream, CountsNothingAbsurd) {
  for (const char* tokens : {"-5", "\"7\"", "null", "{}"}) {
    const std::string line = R"({"type":"result","is_error":true,"usage":{"input_tokens":)" +
                             std::string(tokens) + "}}\n";
    EXPECT_THAT(read(StreamForm::Claude, line, 100), ElementsAre(AgentEvent(Claimed{false, ""})));
  }
  std::string huge;
  for (int i = 0; i < 3; ++i) {
    huge += R"({"type":"turn.completed","usage":{"input_tokens":9000000000000000000}})"
            "\n";
  }
  const Events events = read(StreamForm::Codex, huge, 100);
  EXPECT_EQ(std::get<Spent>(events[4]).tokens, std::uint64_t{1} << 53U);
}

TEST(AgentStream, WithoutItsWordAnAgentClaimsNothing) {
  EXPECT_THAT(read(StreamForm::Claude, R"({"type":"result"})", 100),
              ElementsAre(AgentEvent(Claimed{false, ""})));
}

}  // namespace
}  // namespace cordon::loop
