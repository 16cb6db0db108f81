#include "faces/loop/runs.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "policy/agents.h"

namespace cordon::loop {
namespace {

constexpr std::uint64_t kProbeMs = 5'000;
constexpr std::uint64_t kHearMs = 60'000;  // an interpreter may be read for the first time
constexpr std::size_t kShownOutput = 4096;

std::string tool_of(Role role) {
  switch (role) {
    case Role::Probe:
    case Role::Answer:
      return "loop_probe";
    case Role::Agent:
      return "loop_agent";
    case Role::Verify:
      return "loop_verify";
    case Role::Commit:
      return "loop_commit";
  }
  return "loop";
}

// Only the agent speaks to its model and holds the key for that. What it left in its home is no
// part of the project that anybody looks at: a program there, or a start-up file of an interpreter,
// must not decide whether its work is done.
void without_agent_needs(const AgentCommand& agent, Policy& policy) {
  policy.net = {};
  policy.fs.home = std::min(policy.fs.home, HomeMode::Private);
  // The policy may be for another agent than the program is called.
  for (const std::string& name : {agent.name, std::exchange(policy.agent, {}).name}) {
    if (const AgentNeeds* needs = find_agent(name)) remove_needs(*needs, policy);
  }
}

}  // namespace

RunInput run_input(const LoopInput& loop, Role role, std::vector<std::string> argv,
                   std::string call_id) {
  RunInput input;
  input.argv = std::move(argv);
  input.policy = loop.policy;
  input.describe_policy = false;
  input.asker = {tool_of(role), std::move(call_id), {}};
  // What is committed was accepted and is in the project.
  if (role == Role::Commit) {
    input.policy.fs.mode = WriteMode::Live;
  } else {
    input.stage_decision = StageDecision::ByCaller;
  }
  for (const std::string& file : loop.held_files) input.policy.fs.read.push_back({file, {}});
  std::optional<std::uint64_t>& wall = input.policy.limits.wall_ms;
  if (role == Role::Probe) wall = std::min(kProbeMs, wall.value_or(kProbeMs));
  if (role == Role::Answer) {
    wall = std::min(kHearMs, wall.value_or(kHearMs));
    // Nothing is worked on yet, and whatever a release makes of the question, it spends nothing.
    input.policy.net = {};
    // Nor does it need a key for that: without a network it would have it in its own hands.
    for (const std::string& name : {loop.agent.name, input.policy.agent.name}) {
      if (const AgentNeeds* needs = find_agent(name)) withhold_credentials(*needs, input.policy);
    }
    FsRules& fs = input.policy.fs;
    std::ranges::move(std::exchange(fs.write, {}), std::back_inserter(fs.read));
    fs.mode = WriteMode::Live;
  }
  if (role == Role::Verify || role == Role::Commit) {
    without_agent_needs(loop.agent, input.policy);
    wall = std::min(loop.budget.attempt_wall_ms, wall.value_or(loop.budget.attempt_wall_ms));
  }
  return input;
}

std::string last_output(const Outcome& outcome) {
  std::string text;
  for (const auto* stream : {&outcome.out, &outcome.err}) {
    if (*stream) text.append((*stream)->text());
  }
  if (text.size() > kShownOutput) text.erase(0, text.size() - kShownOutput);
  return to_utf8(text);
}

std::string last_line(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return sanitize(std::string(text.substr(text.rfind('\n') + 1)));
}

std::string describe_surroundings(const Policy& policy, const Report& probe) {
  std::string text =
      "You work inside a sandbox that the operating system enforces. This project can be written; "
      "of the rest of the machine you see programs and little else. ";
  if (probe.enforcement.network == "open") {
    text += "The network is open.";
  } else if (probe.enforcement.network == "none") {
    text += "There is no network.";
  } else {
    std::string hosts;
    for (const HostRule& rule : policy.net.allow) {
      std::string name = to_string(rule);
      const auto reduced = std::ranges::find_if(probe.reductions, [&](const Reduction& reduction) {
        return reduction.what == "allow" && reduction.asked == name;
      });
      if (reduced != probe.reductions.end()) name = reduced->got.value_or("");
      if (!name.empty()) hosts.append(hosts.empty() ? "" : ", ").append(name);
    }
    text += hosts.empty() ? "No host outside can be reached."
                          : "The network leads to these hosts alone: " + hosts + ".";
  }
  text +=
      " A file or a host that is not found may be there and outside of what you may reach: then "
      "say "
      "so, and do not look for a way around it.";
  return text;
}

std::string build_prompt(const Feature& feature, const std::optional<VerifyEnded>& last,
                         std::string_view surroundings) {
  std::string text = feature.title + "\n";
  if (!feature.prompt.empty()) text.append("\n").append(feature.prompt).append("\n");
  text.append("\nThe work is accepted when this command succeeds in the project directory:\n\n    ")
      .append(feature.verify)
      .append("\n");
  if (!surroundings.empty()) text.append("\n").append(surroundings).append("\n");
  if (last) {
    if (last->refused.empty()) {
      text.append("\nAn earlier attempt was not accepted. The command ended with status ")
          .append(std::to_string(last->status))
          .append(" and wrote at last:\n\n")
          .append(sanitize_lines(last->output))
          .append("\n");
    } else {
      text.append("\nAn earlier attempt was not accepted: the command ")
          .append(last->refused)
          .append(".\n");
    }
    if (last->discarded) {
      text.append("\nNothing of that attempt is left: the project is as it was before it.\n");
    }
  }
  return text;
}

const char* const kNoteTree =
    "set -e; all=$(mktemp -d)/all; cp \"$(git rev-parse --git-path index)\" \"$all\" 2>/dev/null "
    "|| :\n"
    "GIT_INDEX_FILE=$all git add -A; GIT_INDEX_FILE=$all git write-tree\n";
const char* const kCommit =
    "set -e; export GIT_LITERAL_PATHSPECS=1; d=$(mktemp -d)\n"
    "cp \"$(git rev-parse --git-path index)\" \"$d/all\" 2>/dev/null || :\n"
    "GIT_INDEX_FILE=$d/all git add -A; after=$(GIT_INDEX_FILE=$d/all git write-tree)\n"
    "last=$(git rev-parse -q --verify 'HEAD^{tree}' || git hash-object -t tree -w /dev/null)\n"
    "for from in \"$1\" \"$last\"; do\n"
    "  git diff-tree -r -z --name-only --no-renames \"$from\" \"$after\"\n"
    "done | sort -z | uniq -zd > \"$d/names\"\n"
    "test -s \"$d/names\" || { echo 'nothing is left to commit that git does not ignore'; exit 1; "
    "}\n"
    "set -- --pathspec-from-file=\"$d/names\" --pathspec-file-nul\n"
    "GIT_INDEX_FILE=$d/one git read-tree \"$last\"\n"
    "GIT_INDEX_FILE=$d/one git add -A \"$@\"\n"
    "GIT_INDEX_FILE=$d/one git commit -q -F -\n"
    "git add -A \"$@\"\n";

}  // namespace cordon::loop
