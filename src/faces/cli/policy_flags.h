// The words and flags of `cordon policy`. clamp and explain take the policy options of run.
#pragma once

#include <array>
#include <string_view>

#include "faces/cli/flag_table.h"
#include "faces/cli/help_flags.h"
#include "faces/cli/run_flags.h"

namespace cordon::flags {

inline constexpr auto kSchemaChoices = std::to_array<std::string_view>(
    {"policy",     "report",       "audit",        "audit-fleet",  "audit-list",  "audit-prune",
     "audit-ship", "audit-show",   "audit-stats",  "audit-verify", "changes",     "check",
     "clamp",      "convert",      "demo",         "doctor",       "doctor-kube", "explain",
     "fleet-job",  "fleet-record", "fleet-report", "learn",        "loop",        "plan",
     "session",    "sessions",     "setup"});
inline constexpr auto kAccessChoices =
    std::to_array<std::string_view>({"read", "write", "exec", "connect", "publish"});
inline constexpr std::array<std::string_view, 4> kDialectChoices{"cordon", "mxc", "srt",
                                                                 "safeclaw"};

inline constexpr std::array kConvert{
    Flag{FlagId::From, "--from", "KIND", ValueKind::Choice, Times::Once,
         "cordon, mxc, srt or safeclaw",
         "What the document is: a policy of Cordon, a request of MXC (versions 0.4 to 1.1), "
         "settings of sandbox-runtime, a policy of SafeClaw's helper.",
         kDialectChoices},
    Flag{FlagId::To, "--to", "KIND", ValueKind::Choice, Times::Once, "cordon, mxc, srt or safeclaw",
         "What it is to become. One of the two is cordon.", kDialectChoices},
    Flag{FlagId::Drop,
         "--drop",
         "KEY,...",
         ValueKind::Free,
         Times::Many,
         "restrictions to give up, by name",
         "Restrictions that the target cannot say and that are to be given up. Without it they "
         "stop the conversion, and the error names them.",
         {}},
};

inline constexpr int kPolicyUsage = 2;

inline constexpr std::array kClampGroups{kPolicyGroup, kLimitGroup, kAnswerGroup, kHelpGroup};
inline constexpr std::array kExplainGroups{kPolicyGroup, kLimitGroup, kAskedRunGroup, kAnswerGroup,
                                           kHelpGroup};
inline constexpr std::array kPolicyAnswerGroups{kAnswerGroup, kHelpGroup};
inline constexpr std::array kConvertGroups{FlagGroup{"The conversion", kConvert}, kAnswerGroup,
                                           kHelpGroup};
inline constexpr std::array kPolicyBareGroups{kBareHelpGroup};
inline constexpr std::array kPolicySchemaGroups{kHelpGroup};

inline constexpr std::array kPolicyShowOperands{
    Operand{"PRESET|FILE", "the policy to print (default: workspace)", ValueKind::Policy, {}}};
inline constexpr std::array kPolicyCheckOperands{
    Operand{"FILE", "a policy or ceiling file, TOML or JSON", ValueKind::File, {}}};
inline constexpr std::array kConvertOperands{Operand{
    "FILE|PRESET", "the document; a policy of Cordon may be a preset", ValueKind::File, {}}};
inline constexpr std::array kExplainOperands{
    Operand{"ACCESS", "read, write, exec, connect, publish or request", ValueKind::Choice,
            kAccessChoices},
    Operand{"PATH|HOST:PORT|PORT|METHOD URL",
            "what would be accessed; it need not exist yet",
            ValueKind::Path,
            {}}};
inline constexpr std::array kSchemaOperands{
    Operand{"NAME", "policy, report, audit, check ... (default: policy)", ValueKind::Choice,
            kSchemaChoices}};

inline constexpr std::array kPolicyExamples{
    Example{"cordon policy show strict", "Print a preset as a policy file.", 0},
    Example{"cordon policy explain write .", "Ask whether a run could write here.", 0},
    Example{"cordon policy schema report", "Print the JSON Schema of the report.", 0},
};
inline constexpr std::array kPolicyShowExamples{
    Example{"cordon policy show", "Print the preset workspace.", 0},
    Example{"cordon policy show strict", "Print another preset.", 0},
    Example{"cordon policy show --json agent", "The same as JSON.", 0},
};
inline constexpr std::array kPolicyCheckExamples{
    Example{"cordon policy show readonly > mine.toml && cordon policy check mine.toml",
            "A policy file to start from.", 0},
    Example{"cordon policy check --json mine.toml", "The same for machines.", 0},
    Example{"cordon policy check missing.toml", "A file that is not there: the answer is 2.", 2},
};
inline constexpr std::array kClampExamples{
    Example{"cordon policy clamp", "What workspace becomes here under the ceilings of this host.",
            0},
    Example{"cordon policy clamp --policy strict --read /usr/share",
            "The same with a further grant.", 0},
    Example{"cordon policy clamp --json --timeout 5m", "The same as JSON.", 0},
};
inline constexpr std::array kExplainExamples{
    Example{"cordon policy explain write new-file.txt",
            "A path that is not there can be written where it could be made.", 0},
    Example{"cordon policy explain read ~/.ssh/id_ed25519", "Credentials are never seen.", 1},
    Example{"cordon policy explain connect example.com:443", "There is no network by default.", 1},
};
inline constexpr std::array kConvertExamples{
    Example{"cordon policy convert --from cordon --to mxc --drop fs.scratch,limits strict",
            "A preset as a request of MXC, without the limits it does not know.", 0},
    Example{"cordon policy convert --from cordon --to srt strict",
            "What settings of sandbox-runtime cannot say is named, and the answer is 2.", 2},
    Example{"cordon policy convert --from cordon --to safeclaw --drop fs.scratch,env,limits strict "
            "> helper.json && cordon policy convert --from safeclaw --to cordon helper.json",
            "There and back again.", 0},
};
inline constexpr std::array kSchemaExamples{
    Example{"cordon policy schema", "The JSON Schema of policy and ceiling files.", 0},
    Example{"cordon policy schema policy", "The same.", 0},
    Example{"cordon policy schema report", "The JSON Schema of the report.", 0},
};

inline constexpr std::string_view kClampText =
    "Takes the policy options of run, applies every ceiling and prints the policy a run would get, "
    "as TOML, with each reduction as a comment and its reason.";

inline constexpr std::string_view kExplainText =
    "Takes the policy options of run and answers whether a run from this directory could read, "
    "write or execute PATH, connect to HOST:PORT or to the host's local socket at PATH, publish "
    "PORT, or send a request with METHOD to URL, with "
    "the rule that decides, the ceiling with its line, what becomes of what is written, and a "
    "change that was tried before it is told, or that nothing can grant it. The answer is that of "
    "the plan a run would carry out, the rights of the file itself included. Nothing is started "
    "and no tree is walked. The exit status is 0 for yes, 1 for no, 2 for an error.";

inline constexpr std::string_view kConvertText =
    "Prints the document in the other language: TOML for a policy of Cordon, else JSON. The result "
    "never permits more. What the target cannot say is left out and listed on standard error, with "
    "the reason; a restriction that it cannot say stops the conversion unless --drop names it. "
    "Unknown or unenforceable content is refused, with the place.\n\n"
    "Relative paths, \"~\" and \"@cwd\" are written out for this directory and this user.";

inline constexpr std::array kPolicyVerbs{
    Verb{"policy",
         "show|check|clamp|explain|convert|schema [ARG]...",
         "show, check, explain and convert policies",
         "show prints a policy, check reads one, clamp applies the ceilings, explain answers what "
         "a run could do, convert speaks other tools' languages, schema prints the JSON Schemas.",
         kPolicyBareGroups,
         {},
         kPolicyExamples,
         kPolicyUsage},
    Verb{"policy show", "[PRESET|FILE]", "print a preset or a policy file",
         "Prints a policy as TOML, complete: what \"extends\" brings in is written out.",
         kPolicyAnswerGroups, kPolicyShowOperands, kPolicyShowExamples, kPolicyUsage},
    Verb{"policy check", "FILE", "read a policy file and say what is wrong with it",
         "Reads a policy file and answers 0 if it is valid, or 2 with the place and the cure: also "
         "of a path that no run on this host is given, such as /etc to write. A file called "
         "ceiling.toml or ceiling.json is read as a ceiling, which may name a whole home.",
         kPolicyAnswerGroups, kPolicyCheckOperands, kPolicyCheckExamples, kPolicyUsage},
    Verb{"policy clamp",
         "",
         "print what the ceilings leave of a policy",
         kClampText,
         kClampGroups,
         {},
         kClampExamples,
         kPolicyUsage},
    Verb{"policy explain", "ACCESS PATH|HOST:PORT|PORT|METHOD URL",
         "say whether a run could do that, and why", kExplainText, kExplainGroups, kExplainOperands,
         kExplainExamples, kPolicyUsage},
    Verb{"policy convert", "FILE|PRESET", "turn a policy into another tool's document, or back",
         kConvertText, kConvertGroups, kConvertOperands, kConvertExamples, kPolicyUsage},
    Verb{"policy schema", "[NAME]", "print a JSON Schema",
         "Prints the JSON Schema of policy files, of the report, of a record of the audit log, or "
         "of what another verb answers with --json: the name is that in its \"schema\".",
         kPolicySchemaGroups, kSchemaOperands, kSchemaExamples, kPolicyUsage},
};

}  // namespace cordon::flags
