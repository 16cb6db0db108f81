#include "faces/cli/hook.h"

#include <gtest/gtest.h>

#include <vector>

#include "config/node.h"

namespace cordon {
namespace {

const std::vector<std::string> kContain{"/opt/a b/cordon", "run", "--timeout=5m", "--"};

Result<std::string> judge(const std::string& tool, const std::string& input) {
  return judge_claude_call(R"({"hook_event_name":"PreToolUse","session_id":"s","tool_name":")" +
                               tool + R"(","tool_input":)" + input + "}",
                           kContain);
}

TEST(HookClaude, WrapsTheCommandAndKeepsTheRestOfTheCall) {
  const auto answer =
      judge("Bash", R"({"command":"echo 'a' && ls","timeout":5,"description":"d",)"
                    R"("run_in_background":true,"dangerouslyDisableSandbox":true})");
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(
      *answer,
      R"({"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow",)"
      R"("permissionDecisionReason":"contained by cordon run","updatedInput":{"command":)"
      R"("'/opt/a b/cordon' run '--timeout=5m' -- /bin/bash -c 'echo '\\''a'\\'' && ls'",)"
      R"("timeout":5,"description":"d","run_in_background":true,"dangerouslyDisableSandbox":true}}})"
      "\n");
}

TEST(HookClaude, WrapsACommandThatSeemsContainedAlready) {
  const auto answer = judge("Bash", R"({"command":"cordon run -- true; id"})");
  ASSERT_TRUE(answer);
  EXPECT_NE(answer->find("-- /bin/bash -c 'cordon run -- true; id'"), std::string::npos);
}

TEST(HookClaude, SaysNothingAboutToolsThatRunNoCommand) {
  for (const char* tool : {"Read", "Write", "mcp__cordon__run_code"}) {
    const auto answer = judge(tool, R"({"file_path":"/x"})");
    ASSERT_TRUE(answer) << tool;
    EXPECT_EQ(*answer, "");
  }
  EXPECT_TRUE(judge("mcp__other__do", R"({"command":"x"})"));
}

TEST(HookClaude, RefusesWhatItDoesNotKnow) {
  constexpr std::size_t kTooLong = 131'072;
  EXPECT_FALSE(judge("Monitor", R"({"command":"tail -f x"})"));
  EXPECT_FALSE(judge("PowerShell", R"({"command":["x"]})"));
  EXPECT_FALSE(judge("Bash", R"({"command":"sed -i s/a/b/ f","_simulatedSedEdit":{}})"));
  EXPECT_FALSE(judge("Bash", R"({"command":["ls"]})"));
  EXPECT_FALSE(judge("Bash", R"({"command":null})"));
  EXPECT_FALSE(judge("Bash", "{}"));
  EXPECT_FALSE(judge("Bash", "[]"));
  EXPECT_FALSE(judge("Bash", R"({"command":"a\u0000b"})"));
  EXPECT_FALSE(judge("Bash", R"({"command":"a","command":"b"})"));
  EXPECT_FALSE(judge("Bash", R"({"command":"\ud800"})"));
  EXPECT_FALSE(judge("Bash", R"({"command":")" + std::string(kTooLong, 'x') + "\"}"));
  EXPECT_TRUE(judge("Bash", R"({"command":")" + std::string(kTooLong - 1, 'x') + "\"}"));
}

TEST(HookClaude, RefusesMessagesThatAreNotACall) {
  constexpr const char* kNotUtf8 =
      "{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":"
      "{\"command\":\"\xff\"}}";
  for (const char* text :
       {"", "{", "null", "[]", "\"x\"", "{}", R"({"hook_event_name":"PreToolUse"})",
        R"({"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"x"}})",
        R"({"tool_name":"Bash","tool_input":{"command":"x"}})",
        R"({"hook_event_name":"PreToolUse","tool_name":1,"tool_input":{"command":"x"}})",
        R"({"hook_event_name":"PreToolUse","tool_name":"Read"})", kNotUtf8}) {
    EXPECT_FALSE(judge_claude_call(text, kContain)) << text;
  }
}

}  // namespace
}  // namespace cordon
