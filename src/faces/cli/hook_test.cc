#include "faces/cli/hook.h"

#include <gtest/gtest.h>

#include <vector>

#include "config/node.h"

namespace cordon {
namespace {

const std::vector<std::string> kContain{"/opt/a b/cordon", "run", "--timeout=5m", "--"};

Result<std::string> judge(const std::string& tool, const std::string& input) {
  return judge_host_call(HookHost::Claude,
                         R"({"hook_event_name":"PreToolUse","session_id":"s","tool_name":")" +
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
    EXPECT_FALSE(judge_host_call(HookHost::Claude, text, kContain)) << text;
  }
}

// One call of the shell in the words of each host, and what is answered.
struct HostCall {
  HookHost host;
  const char* before;  // the message up to the members of the call
  const char* shell;
  const char* answer;
};

const std::vector<HostCall> kHostCalls{
    {HookHost::Codex, R"({"hook_event_name":"PreToolUse","tool_use_id":"c","tool_input":)",
     "tool_name",
     R"({"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow",)"
     R"("permissionDecisionReason":"contained by cordon run","updatedInput":{"command":"@"}}})"},
    {HookHost::Copilot, R"({"sessionId":"s","cwd":"/x","toolArgs":)", "toolName",
     R"({"permissionDecision":"allow","permissionDecisionReason":"contained by cordon run",)"
     R"("modifiedArgs":{"command":"@"}})"},
    {HookHost::Gemini, R"({"hook_event_name":"BeforeTool","timestamp":"t","tool_input":)",
     "tool_name",
     R"({"decision":"allow","hookSpecificOutput":{"hookEventName":"BeforeTool",)"
     R"("tool_input":{"command":"@"}}})"},
};

std::string message_of(const HostCall& call, const std::string& tool, const std::string& input) {
  return call.before + input + ",\"" + call.shell + "\":\"" + tool + "\"}";
}

std::string shell_of(HookHost host) {
  return host == HookHost::Gemini    ? "run_shell_command"
         : host == HookHost::Copilot ? "bash"
                                     : "Bash";
}

TEST(HookHosts, WrapsTheCommandInTheWordsOfEachHost) {
  for (const HostCall& call : kHostCalls) {
    const auto answer = judge_host_call(
        call.host, message_of(call, shell_of(call.host), R"({"command":"ls"})"), kContain);
    ASSERT_TRUE(answer) << answer.error().what;
    std::string expected = call.answer;
    expected.replace(expected.find('@'), 1,
                     "'/opt/a b/cordon' run '--timeout=5m' -- /bin/bash -c ls");
    EXPECT_EQ(*answer, expected + "\n");
  }
}

TEST(HookHosts, RefusesWhatItDoesNotKnowOfEachHost) {
  for (const HostCall& call : kHostCalls) {
    const std::string shell = shell_of(call.host);
    const auto judged = [&](const std::string& tool, const std::string& input) {
      return judge_host_call(call.host, message_of(call, tool, input), kContain).has_value();
    };
    EXPECT_TRUE(judged("view", R"({"path":"/x"})"));
    EXPECT_FALSE(judged("another", R"({"command":"ls"})"));
    EXPECT_EQ(judged("write_bash", R"({"input":"ls"})"), call.host != HookHost::Copilot);
    EXPECT_FALSE(judged(shell, R"({"command":"ls","additional_permissions":{}})"));
    EXPECT_FALSE(judged(shell, R"({"command":["ls"]})"));
    EXPECT_FALSE(judged(shell, "{}"));
    EXPECT_FALSE(judged(shell, R"("{\"command\":\"ls\"}")"));
  }
}

TEST(HookHosts, DoesNotTakeOneHostForAnother) {
  for (const HostCall& call : kHostCalls) {
    const std::string message = message_of(call, shell_of(call.host), R"({"command":"ls"})");
    for (const HookHost other :
         {HookHost::Claude, HookHost::Codex, HookHost::Copilot, HookHost::Gemini}) {
      const bool same =
          other == call.host || (other == HookHost::Claude && call.host == HookHost::Codex);
      EXPECT_EQ(judge_host_call(other, message, kContain).has_value(), same);
    }
  }
}

TEST(HookHosts, LetsNoCommandOutliveCopilot) {
  const HostCall& call = kHostCalls[1];
  const auto judged = [&](const std::string& detach) {
    return judge_host_call(call.host,
                           message_of(call, "bash",
                                      R"({"command":"ls","mode":"async","detach":)" + detach + "}"),
                           kContain)
        .has_value();
  };
  EXPECT_TRUE(judged("false"));
  EXPECT_FALSE(judged("true"));
  EXPECT_FALSE(judged("1"));
}

}  // namespace
}  // namespace cordon
