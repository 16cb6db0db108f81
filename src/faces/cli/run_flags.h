// The words and flags of `cordon run`. Other verbs that judge or start a command take some of its
// groups: what the command may do, its limits, the mechanism.
#pragma once

#include <array>
#include <string_view>

#include "faces/cli/flag_table.h"
#include "faces/cli/help_flags.h"

namespace cordon::flags {

inline constexpr std::array<std::string_view, 2> kNetChoices{"none", "open"};
inline constexpr std::array<std::string_view, 5> kLayerChoices{"namespaces", "landlock", "seccomp",
                                                               "capabilities", "cgroup"};
inline constexpr std::array<std::string_view, 6> kBackendChoices{"native", "bwrap", "landlock",
                                                                 "mxc",    "oci",   "seatbelt"};
inline constexpr std::array<std::string_view, 3> kRuntimeChoices{"runc", "crun", "runsc"};

inline constexpr Flag kBackend{
    FlagId::Backend,
    "--backend",
    "NAME",
    ValueKind::Choice,
    Times::Once,
    "the mechanism (default: the first that works)",
    "The mechanism that contains the command. Without it, and without CORDON_BACKEND, it is the "
    "first that works on this host and that every ceiling permits of: native; bwrap, where the "
    "installed bubblewrap makes the namespaces and the root; landlock, which goes without "
    "namespaces where every ceiling accepts that. Only by name: mxc, which drives a pinned MXC "
    "executor; oci, which has an installed OCI runtime make the namespaces and the mounts; "
    "seatbelt, which is macOS's and unproven. Nothing stands in for one that is named.",
    kBackendChoices};
inline constexpr std::array kMechanism{kBackend};

inline constexpr std::array<std::string_view, 3> kStageChoices{"auto", "review", "copy"};
inline constexpr Flag kStage{
    FlagId::Stage,
    "--stage",
    "[=auto|review|copy]",
    ValueKind::OptionalChoice,
    Times::Once,
    "keep what is written apart; see cordon changes",
    "Write into a layer of its own instead of the project: inside everything succeeds, and "
    "nothing reaches the project before the run is over. auto: what nothing on the host runs "
    "is applied then, the rest is held back. review: all of it waits for cordon changes. "
    "copy: for where the kernel refuses such a layer; the command works in a copy of what it may "
    "write, which costs time and room. Alone, or with copy, it leaves the end to the policy, which "
    "says auto unless it says review.",
    kStageChoices};
// Of a question about a run.
inline constexpr std::array kAskedRun{kStage, kBackend};

inline constexpr std::array kPolicy{
    Flag{FlagId::Policy,
         "--policy",
         "FILE|PRESET",
         ValueKind::Policy,
         Times::Once,
         "start from this policy (default: workspace)",
         "Start from a preset (strict, workspace, readonly, build, agent), from policies/WORD.toml "
         "in the configuration directory, or from a TOML or JSON file. A file without \"extends\" "
         "starts from nothing.",
         {}},
    Flag{FlagId::Ceiling,
         "--ceiling",
         "FILE",
         ValueKind::File,
         Times::Many,
         "bound the run by this file too",
         "Bound the run by this file, beside every ceiling the host has. No ceiling replaces "
         "another; a missing file is an error.",
         {}},
    Flag{FlagId::Read,
         "--read",
         "PATH",
         ValueKind::Path,
         Times::Many,
         "let the command read PATH and what is below",
         "Let the command read and execute PATH and everything below it. Relative paths start at "
         "the current directory; ~ is home, @cwd the current directory.",
         {}},
    Flag{FlagId::Write,
         "--write",
         "PATH",
         ValueKind::Path,
         Times::Many,
         "let the command change PATH and what is below",
         "Let the command change PATH and everything below it, but for the protected files held "
         "in every writable place: git metadata, shell start-up files, editor and agent settings.",
         {}},
    Flag{FlagId::Deny,
         "--deny",
         "PATH",
         ValueKind::Path,
         Times::Many,
         "hide PATH or a name pattern inside the grants",
         "Hide what matches, inside every grant. Without a slash it matches a name at any depth "
         "(*.pem), with one it is anchored like a path. A denied file answers EACCES, a denied "
         "directory is empty.",
         {}},
    Flag{FlagId::Net, "--net", "none|open", ValueKind::Choice, Times::Once,
         "no network, or all of the host's",
         "none: an empty network of its own. open: the host's network without any filter, and the "
         "report says so.",
         kNetChoices},
    Flag{FlagId::Allow,
         "--allow",
         "HOST[:PORT]",
         ValueKind::Free,
         Times::Many,
         "let the command connect to HOST",
         "Let the command connect to HOST: a name, *.name for sub-domains, an address or a CIDR "
         "range, with an optional port or port range. Sets the network mode \"allow\".",
         {}},
    Flag{FlagId::HttpRequest,
         "--http",
         "METHOD HOST/PATH",
         ValueKind::Free,
         Times::Many,
         "let the command send such requests to HOST",
         "Let the command send requests of this kind to HOST, judged one by one outside: a method "
         "or *, a name with an optional port, a path in which * stands for one segment and /** at "
         "the end for everything below, as in 'GET api.example.com/v1/**'. The host is reached in "
         "no other way then. Sets the network mode \"allow\".",
         {}},
    Flag{
        FlagId::Publish,
        "--publish",
        "[HOSTPORT:]PORT",
        ValueKind::Free,
        Times::Many,
        "reach a server inside at the host's loopback",
        "Make port PORT inside reachable at HOSTPORT of the host's loopback, or at the same "
        "number. "
        "Every program of this host can call it, browsers included; no other machine can. Not with "
        "--net open, where the command listens on the host's network itself.",
        {}},
    Flag{FlagId::Socket,
         "--socket",
         "PATH",
         ValueKind::Path,
         Times::Many,
         "let the command connect to this local socket",
         "Let the command connect to the local socket PATH of the host, in every network mode. Who "
         "may talk to some of them may do anything: those are named.",
         {}},
    Flag{
        FlagId::SshAgent,
        "--ssh-agent",
        "",
        ValueKind::None,
        Times::Once,
        "let the command log in by the keys of the ssh agent",
        "Let the command have the ssh agent of SSH_AUTH_SOCK list its keys and sign with them, and "
        "nothing else: no key leaves the agent, none is added or removed. Needs --allow HOST:22, "
        "and shows the lines of ~/.ssh/known_hosts for the hosts that are allowed. Under a ceiling "
        "it needs ssh_agent = true in [net].",
        {}},
    Flag{FlagId::Env,
         "--env",
         "NAME[=VALUE]",
         ValueKind::Variable,
         Times::Many,
         "pass a variable through, or set it",
         "NAME passes the caller's value on, NAME=VALUE sets one, and 'NAME*' passes all that "
         "begin so, but for those that look like secrets or make programs run something else, "
         "which are named. The environment is otherwise built from nothing. LD_* and "
         "GLIBC_TUNABLES are refused.",
         {}},
    Flag{FlagId::Require, "--require", "LAYER,...", ValueKind::Choice, Times::Many,
         "refuse to run without these layers",
         "Refuse to run unless these layers hold too: namespaces, landlock, seccomp, "
         "capabilities, cgroup. It only adds to what the policy requires.",
         kLayerChoices},
};

inline constexpr std::array kLimits{
    Flag{FlagId::Timeout,
         "--timeout",
         "DURATION",
         ValueKind::Free,
         Times::Once,
         "kill the command after this time (30s, 5m)",
         "Kill the whole process tree after this time: 250ms, 30s, 5m, 2h. The exit status is then "
         "124.",
         {}},
    Flag{FlagId::Memory,
         "--memory",
         "SIZE",
         ValueKind::Free,
         Times::Once,
         "kill the command beyond this memory (512M)",
         "Kill the tree when it uses more memory than this: 512M, 2G. The exit status is then 137.",
         {}},
    Flag{FlagId::Pids,
         "--pids",
         "N",
         ValueKind::Free,
         Times::Once,
         "at most N processes and threads",
         "At most N processes and threads at one time; a further fork fails with EAGAIN.",
         {}},
    Flag{FlagId::Files,
         "--files",
         "N",
         ValueKind::Free,
         Times::Once,
         "at most N open files of one process",
         "At most N open descriptors of one process; a further open fails with EMFILE.",
         {}},
    Flag{FlagId::Cpus,
         "--cpus",
         "N",
         ValueKind::Free,
         Times::Once,
         "at most N processors' worth of time (1.5)",
         "At most this many processors' worth of time, as a decimal number: 2, 0.5.",
         {}},
    Flag{FlagId::Scratch,
         "--scratch",
         "SIZE",
         ValueKind::Free,
         Times::Once,
         "size of the private /tmp and home",
         "The bound that the private /tmp, /dev/shm and home share. Beyond it writing fails with "
         "ENOSPC.",
         {}},
    Flag{FlagId::OutputLimit,
         "--output-limit",
         "SIZE",
         ValueKind::Free,
         Times::Once,
         "bytes of each stream kept with --json",
         "How much of each captured stream the report keeps, head and tail. The rest is counted "
         "and dropped; the command goes on.",
         {}},
};

inline constexpr Flag kReport{
    FlagId::Report,
    "--report",
    "FILE",
    ValueKind::File,
    Times::Once,
    "write the report to FILE",
    "Write the report to FILE with mode 0600 and leave the streams alone. Replaces an empty file "
    "or "
    "an older report and refuses everything else, a symlink too; /dev/fd/N names an open "
    "descriptor. A FILE that ends in .html gets a page for a browser instead of JSON.",
    {}};

inline constexpr std::array kRun{
    kStage,
    Flag{FlagId::StageFrom,
         "--stage-from",
         "RUN",
         ValueKind::Free,
         Times::Once,
         "go on in the stage of RUN",
         "Go on in the stage that an earlier run left: the command sees what that run wrote, and "
         "all changes are this run's from then on. RUN is the id of a run, or last. The grants to "
         "write have to be the same. Refused if its changes were applied or discarded, or while "
         "somebody works on them.",
         {}},
    Flag{
        FlagId::StageFork,
        "--stage-fork",
        "RUN",
        ValueKind::Free,
        Times::Once,
        "begin with a copy of the stage of RUN",
        "The same with a copy of what RUN changed: its stage stays as it is, and both go on apart.",
        {}},
    Flag{FlagId::Cwd,
         "--cwd",
         "DIR",
         ValueKind::Directory,
         Times::Once,
         "start the command in DIR; grants nothing",
         "Where the command starts. It grants nothing.",
         {}},
    kBackend,
    Flag{
        FlagId::RuntimeProgram, "--runtime", "NAME", ValueKind::Choice, Times::Once,
        "the runtime of --backend oci: runc or crun",
        "Which installed OCI runtime --backend oci starts (default: runc, then crun). runsc, "
        "which is gVisor's, is refused: nothing of what is put on inside could be read back there.",
        kRuntimeChoices},
    Flag{FlagId::Tty,
         "--tty",
         "",
         ValueKind::None,
         Times::Once,
         "give the command a terminal of its own",
         "Put a pseudo-terminal between the caller and the command. It is the default when "
         "standard input, output and error are terminals.",
         {}},
    Flag{FlagId::DryRun,
         "--dry-run",
         "",
         ValueKind::None,
         Times::Once,
         "print the plan and start nothing",
         "Print every operation of the plan, in order, and what the ceilings took away; start "
         "nothing.",
         {}},
    Flag{FlagId::Json,
         "--json",
         "",
         ValueKind::None,
         Times::Once,
         "capture the streams, print the report",
         "Capture the command's output and print the report as JSON. The exit status stays the "
         "same, unless the report cannot be written: then it is not 0.",
         {}},
    Flag{FlagId::Summary,
         "--summary",
         "",
         ValueKind::None,
         Times::Once,
         "print ten lines about the run at its end",
         "Print at most ten lines about the run on standard error when it has ended: how it ended, "
         "what held it, what it used, what was denied, what it changed and where it is recorded.",
         {}},
    Flag{FlagId::Why,
         "--why",
         "",
         ValueKind::None,
         Times::Once,
         "watch the command; tell what it was refused",
         "Look at every path that the command asks for, and tell at the end which of them its "
         "policy does not give it, by which rule and what would: inside, what is not granted is "
         "not there. What the host does not have either is left out. It only tells: the command "
         "may do as much as without it, and programs that ask for many files are slower.",
         {}},
    Flag{
        FlagId::EndsWith,
        "--ends-with",
        "PID",
        ValueKind::Free,
        Times::Once,
        "end the run when process PID ends",
        "End the run, and all that it started, when process PID ends, however it does. cordon hook "
        "writes it into its answers, so that no command outlives the agent host that asked for it.",
        {}},
    kReport,
};

inline constexpr FlagGroup kPolicyGroup{"What the command may do", kPolicy};
inline constexpr FlagGroup kLimitGroup{"Limits", kLimits};
inline constexpr FlagGroup kMechanismGroup{"Mechanism", kMechanism};
inline constexpr FlagGroup kAskedRunGroup{"The run", kAskedRun};

inline constexpr std::array kRunGroups{kPolicyGroup, kLimitGroup, FlagGroup{"The run", kRun},
                                       kHelpGroup};

inline constexpr std::array kRunOperands{Operand{
    "CMD [ARG]...", "the command and its arguments, passed on as they are", ValueKind::File, {}}};

inline constexpr std::array kRunExamples{
    Example{"cordon run -- python3 -c 'print(1)'",
            "Change nothing but this directory, see no credentials, reach no network.", 0},
    Example{"cordon run --policy readonly --timeout 10s -- ls -l",
            "Look at this directory without being able to change it.", 0},
    Example{"cordon run --json --memory 256M -- sh -c 'echo hello'",
            "Capture the output and print what was enforced.", 0},
};

inline constexpr std::string_view kRunText =
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

inline constexpr Verb kRunVerb{"run",
                               "[--] CMD [ARG]...",
                               "run one command under a policy",
                               kRunText,
                               kRunGroups,
                               kRunOperands,
                               kRunExamples,
                               125};

}  // namespace cordon::flags
