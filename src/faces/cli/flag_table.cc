#include "faces/cli/flag_table.h"

#include <algorithm>
#include <array>

#include "faces/cli/flag_table_apply.h"
#include "faces/cli/flag_table_audit.h"
#include "faces/cli/flag_table_changes.h"
#include "faces/cli/flag_table_demo.h"
#include "faces/cli/flag_table_hook.h"
#include "faces/cli/flag_table_loop.h"
#include "faces/cli/flag_table_mcp.h"
#include "faces/cli/flag_table_mxc.h"
#include "faces/cli/flag_table_query.h"
#include "faces/cli/flag_table_run.h"
#include "faces/cli/flag_table_setup.h"
#include "faces/cli/flag_table_srt.h"

namespace cordon {
namespace {

constexpr int kRunUsage = 125;
constexpr int kQueryUsage = 2;

constexpr FlagGroup kHelpGroup{"Help", flags::kHelp};
constexpr FlagGroup kPolicyGroup{"What the command may do", flags::kPolicy};
constexpr FlagGroup kLimitGroup{"Limits", flags::kLimits};
constexpr FlagGroup kAnswerGroup{"Answer", flags::kAnswer};

constexpr std::array kRunGroups{kPolicyGroup, kLimitGroup, FlagGroup{"The run", flags::kRun},
                                kHelpGroup};
constexpr FlagGroup kAskedRunGroup{"The run", flags::kAskedRun};
constexpr std::array kJudgeGroups{kPolicyGroup, kLimitGroup, kAnswerGroup, kHelpGroup};
constexpr std::array kExplainGroups{kPolicyGroup, kLimitGroup, kAskedRunGroup, kAnswerGroup,
                                    kHelpGroup};
constexpr std::array kAnswerGroups{kAnswerGroup, kHelpGroup};
constexpr std::array kConvertGroups{FlagGroup{"The conversion", flags::kConvert}, kAnswerGroup,
                                    kHelpGroup};
constexpr std::array kBareGroups{kHelpGroup};
constexpr std::array kDoctorGroups{FlagGroup{"Answer", flags::kDoctor}, kHelpGroup};
constexpr std::array kFormatGroups{FlagGroup{"Answer", flags::kFormat}, kHelpGroup};
constexpr std::array kTopGroups{FlagGroup{"Options", flags::kTopLevel}, kHelpGroup};

constexpr std::array kRunOperands{Operand{
    "CMD [ARG]...", "the command and its arguments, passed on as they are", ValueKind::File, {}}};
constexpr std::array kShowOperands{
    Operand{"PRESET|FILE", "the policy to print (default: workspace)", ValueKind::Policy, {}}};
constexpr std::array kCheckOperands{
    Operand{"FILE", "a policy or ceiling file, TOML or JSON", ValueKind::File, {}}};
constexpr std::array kConvertOperands{Operand{
    "FILE|PRESET", "the document; a policy of Cordon may be a preset", ValueKind::File, {}}};
constexpr std::array kExplainOperands{
    Operand{"ACCESS", "read, write, exec or connect", ValueKind::Choice, flags::kAccessChoices},
    Operand{
        "PATH|HOST:PORT", "what would be accessed; it need not exist yet", ValueKind::Path, {}}};
constexpr std::array kSchemaOperands{Operand{"policy|report|audit|changes",
                                             "which schema (default: policy)", ValueKind::Choice,
                                             flags::kSchemaChoices}};
constexpr std::array kHelpOperands{Operand{"VERB", "the verb to explain", ValueKind::Free, {}}};

constexpr std::array kTopExamples{
    Example{"cordon run -- python3 -c 'print(1)'",
            "Run a program that can change this directory and nothing else.", 0},
    Example{"cordon policy explain write /etc/hostname", "Ask whether that would be permitted.", 1},
    Example{"cordon doctor", "See what this host can enforce.", 0},
};
constexpr std::array kRunExamples{
    Example{"cordon run -- python3 -c 'print(1)'",
            "Change nothing but this directory, see no credentials, reach no network.", 0},
    Example{"cordon run --policy readonly --timeout 10s -- ls -l",
            "Look at this directory without being able to change it.", 0},
    Example{"cordon run --json --memory 256M -- sh -c 'echo hello'",
            "Capture the output and print what was enforced.", 0},
};
constexpr std::array kPolicyExamples{
    Example{"cordon policy show strict", "Print a preset as a policy file.", 0},
    Example{"cordon policy explain write .", "Ask whether a run could write here.", 0},
    Example{"cordon policy schema report", "Print the JSON Schema of the report.", 0},
};
constexpr std::array kShowExamples{
    Example{"cordon policy show", "Print the preset workspace.", 0},
    Example{"cordon policy show strict", "Print another preset.", 0},
    Example{"cordon policy show --json agent", "The same as JSON.", 0},
};
constexpr std::array kCheckExamples{
    Example{"cordon policy show readonly > mine.toml && cordon policy check mine.toml",
            "A policy file to start from.", 0},
    Example{"cordon policy check --json mine.toml", "The same for machines.", 0},
    Example{"cordon policy check missing.toml", "A file that is not there: the answer is 2.", 2},
};
constexpr std::array kClampExamples{
    Example{"cordon policy clamp", "What workspace becomes here under the ceilings of this host.",
            0},
    Example{"cordon policy clamp --policy strict --read /usr/share",
            "The same with a further grant.", 0},
    Example{"cordon policy clamp --json --timeout 5m", "The same as JSON.", 0},
};
constexpr std::array kExplainExamples{
    Example{"cordon policy explain write new-file.txt",
            "A path that is not there can be written where it could be made.", 0},
    Example{"cordon policy explain read ~/.ssh/id_ed25519", "Credentials are never seen.", 1},
    Example{"cordon policy explain connect example.com:443", "There is no network by default.", 1},
};
constexpr std::array kConvertExamples{
    Example{"cordon policy convert --from cordon --to mxc --drop fs.scratch,limits strict",
            "A preset as a request of MXC, without the limits it does not know.", 0},
    Example{"cordon policy convert --from cordon --to srt strict",
            "What settings of sandbox-runtime cannot say is named, and the answer is 2.", 2},
    Example{"cordon policy convert --from cordon --to safeclaw --drop fs.scratch,env,limits strict "
            "> helper.json && cordon policy convert --from safeclaw --to cordon helper.json",
            "There and back again.", 0},
};
constexpr std::array kSchemaExamples{
    Example{"cordon policy schema", "The JSON Schema of policy and ceiling files.", 0},
    Example{"cordon policy schema policy", "The same.", 0},
    Example{"cordon policy schema report", "The JSON Schema of the report.", 0},
};
constexpr std::array kDoctorExamples{
    Example{"cordon doctor", "Every check with its verdict.", 0},
    Example{"cordon doctor --fix-hints", "Only what to change.", 0},
    Example{"cordon doctor --json", "The same for machines.", 0},
};
constexpr std::array kHelpExamples{
    Example{"cordon help", "The verbs.", 0},
    Example{"cordon help run", "The long help of a verb.", 0},
    Example{"cordon help --format=bash", "The completions for bash.", 0},
};

constexpr Verb kTop{
    "",
    "VERB [OPTION]... [ARG]...",
    "contain what AI agents run",
    "Runs a command inside a boundary that the kernel enforces, under a policy that "
    "the operator sets and the command can only narrow.",
    kTopGroups,
    {},
    kTopExamples,
    kQueryUsage};

constexpr std::string_view kRunText =
    "Runs CMD under a policy. Without --policy it is the preset workspace: the current directory "
    "is writable, the system and the installed toolchains are readable, home and /tmp are private, "
    "credentials are not there and neither is a network.\n\n"
    "The policy is made in this order: preset or \"extends\", the policy file, the options; then "
    "every ceiling takes away what it does not permit. Lists append, single values replace, denies "
    "only accumulate. What was taken away is reported. A policy that cannot be enforced in full is "
    "refused before anything runs.\n\n"
    "Options end at the first operand; what follows is the command's.\n\n"
    "Exit status: the command's own; 128+N if signal N ended it; 124 at the wall-clock limit; 137 "
    "at another limit; 125 if Cordon refused or failed before the command started; 126 if it was "
    "found but cannot be executed; 127 if it was not found.";

constexpr std::string_view kClampText =
    "Takes the policy options of run, applies every ceiling and prints the policy a run would get, "
    "as TOML, with each reduction as a comment and its reason.";

constexpr std::string_view kExplainText =
    "Takes the policy options of run and answers whether a run from this directory could read, "
    "write or execute PATH, or connect to HOST:PORT or to the host's local socket at PATH, with "
    "the rule that decides, the ceiling with its line, what becomes of what is written, and a "
    "change that was tried before it is told, or that nothing can grant it. The answer is that of "
    "the plan a run would carry out, the rights of the file itself included. Nothing is started "
    "and no tree is walked. The exit status is 0 for yes, 1 for no, 2 for an error.";

constexpr std::string_view kConvertText =
    "Prints the document in the other language: TOML for a policy of Cordon, else JSON. The result "
    "never permits more. What the target cannot say is left out and listed on standard error, with "
    "the reason; a restriction that it cannot say stops the conversion unless --drop names it. "
    "Unknown or unenforceable content is refused, with the place.\n\n"
    "Relative paths, \"~\" and \"@cwd\" are written out for this directory and this user.";

constexpr std::string_view kDoctorText =
    "Tries what a run needs by doing it: namespaces, mounts, Landlock, seccomp, cgroups; then runs "
    "a set of probes inside a real sandbox. A check that does not pass says what to change on this "
    "distribution. The exit status is 1 if anything required fails.";

constexpr std::array kVerbs{
    Verb{"run", "[--] CMD [ARG]...", "run one command under a policy", kRunText, kRunGroups,
         kRunOperands, kRunExamples, kRunUsage},
    Verb{"policy",
         "show|check|clamp|explain|convert|schema [ARG]...",
         "show, check, explain and convert policies",
         "show prints a policy, check reads one, clamp applies the ceilings, explain answers what "
         "a run could do, convert speaks other tools' languages, schema prints the JSON Schemas.",
         kBareGroups,
         {},
         kPolicyExamples,
         kQueryUsage},
    Verb{"policy show", "[PRESET|FILE]", "print a preset or a policy file",
         "Prints a policy as TOML, complete: what \"extends\" brings in is written out.",
         kAnswerGroups, kShowOperands, kShowExamples, kQueryUsage},
    Verb{"policy check", "FILE", "read a policy file and say what is wrong with it",
         "Reads a policy file and answers 0 if it is valid, or 2 with the place and the cure. A "
         "file called ceiling.toml or ceiling.json is read as a ceiling.",
         kAnswerGroups, kCheckOperands, kCheckExamples, kQueryUsage},
    Verb{"policy clamp",
         "",
         "print what the ceilings leave of a policy",
         kClampText,
         kJudgeGroups,
         {},
         kClampExamples,
         kQueryUsage},
    Verb{"policy explain", "ACCESS PATH|HOST:PORT", "say whether a run could do that, and why",
         kExplainText, kExplainGroups, kExplainOperands, kExplainExamples, kQueryUsage},
    Verb{"policy convert", "FILE|PRESET", "turn a policy into another tool's document, or back",
         kConvertText, kConvertGroups, kConvertOperands, kConvertExamples, kQueryUsage},
    Verb{"policy schema", "[policy|report|audit|changes]", "print a JSON Schema",
         "Prints the JSON Schema of policy files, of the report, of a record of the audit log or "
         "of what "
         "cordon changes --json answers.",
         kBareGroups, kSchemaOperands, kSchemaExamples, kQueryUsage},
    flags::kAuditVerbs[0],
    flags::kAuditVerbs[1],
    flags::kAuditVerbs[2],
    flags::kAuditVerbs[3],
    flags::kAuditVerbs[4],
    flags::kAuditVerbs[5],
    flags::kAuditVerbs[6],
    flags::kAuditVerbs[7],
    flags::kChangesVerbs[0],
    flags::kChangesVerbs[1],
    flags::kChangesVerbs[2],
    flags::kChangesVerbs[3],
    flags::kChangesVerbs[4],
    flags::kChangesVerbs[5],
    flags::kChangesVerbs[6],
    flags::kMcpVerb,
    flags::kLoopVerb,
    flags::kHookVerbs[0],
    flags::kHookVerbs[1],
    flags::kSetupVerb,
    flags::kDemoVerb,
    flags::kMxcVerb,
    flags::kSrtVerb,
    flags::kApplyVerb,
    Verb{"doctor",
         "",
         "what this host can enforce, and what to change",
         kDoctorText,
         kDoctorGroups,
         {},
         kDoctorExamples,
         kQueryUsage},
    Verb{"help", "[VERB [SUB-VERB]]", "explain a verb",
         "Prints the long help of a verb, or of Cordon.", kFormatGroups, kHelpOperands,
         kHelpExamples, kQueryUsage},
};

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }

const Verb& top_level() { return kTop; }

const Verb* find_verb(std::string_view name) {
  const auto found = std::ranges::find(kVerbs, name, &Verb::name);
  return found == kVerbs.end() ? nullptr : &*found;
}

bool is_group(const Verb& verb) {
  return !verb.name.empty() && std::ranges::any_of(kVerbs, [&](const Verb& other) {
    return other.name.size() > verb.name.size() && other.name.starts_with(verb.name) &&
           other.name[verb.name.size()] == ' ';
  });
}

const Flag* find_flag(const Verb& verb, std::string_view name) {
  for (const FlagGroup& group : verb.groups) {
    const auto found = std::ranges::find(group.flags, name, &Flag::name);
    if (found != group.flags.end()) return &*found;
  }
  return nullptr;
}

}  // namespace cordon
