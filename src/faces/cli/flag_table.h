// The flag table: every verb of the command line and every flag it takes, said once, in a header
// beside the verb (run_flags.h, faces/loop/loop_flags.h); faces/flag_table.cc joins them. The
// parser, -h, --help, the OPTIONS of the man pages and the shell completions are all made from it,
// so they cannot drift apart. Plain constants: a start of `cordon` constructs nothing for it.
#pragma once

#include <span>
#include <string_view>

namespace cordon {

enum class FlagId {
  // what a command may do; shared by run, policy clamp and policy explain
  Policy,
  Ceiling,
  Read,
  Write,
  Deny,
  Net,
  Allow,
  HttpRequest,
  Publish,
  SshAgent,
  Env,
  Timeout,
  Memory,
  Pids,
  Files,
  Cpus,
  Scratch,
  OutputLimit,
  Require,
  Stage,
  StageFrom,
  StageFork,
  // session
  Agent,
  Conversation,
  Idle,
  Lifetime,
  HandleFd,
  // run
  Cwd,
  Backend,
  Tty,
  DryRun,
  Report,
  Summary,
  Why,
  EndsWith,
  Out,
  Json,
  Html,
  NoPager,
  FixHints,
  // policy convert
  From,
  To,
  Drop,
  // export
  ObjectKind,
  ObjectName,
  Image,
  InsideProgram,
  RuntimeClass,
  NodePolicy,
  Partition,
  // fleet
  Engine,
  Tasks,
  // oci
  RuntimeProgram,
  PolicyDirectory,
  EngineFiles,
  HookProgram,
  StateDirectory,
  RuntimeRoot,
  LogFormat,
  SystemdCgroup,
  CgroupManager,
  Rootless,
  // audit
  Since,
  Until,
  OutcomeIs,
  Denied,
  SessionId,
  Human,
  OwnRuns,
  Tool,
  PathLabel,
  Limit,
  Follow,
  Checkpoint,
  KeepDays,
  NodeName,
  Once,
  Enroll,
  Tables,
  HeadersFile,
  WithoutTls,
  // mcp
  Profile,
  Workspace,
  Session,
  Http,
  Socket,
  TokenFile,
  PrintConfig,
  HostName,
  KubeNode,
  // loop
  Plan,
  Example,
  Attempts,
  Commit,
  Restart,
  Total,
  Tokens,
  Cost,
  Plain,
  // setup
  ProjectName,
  EnvFile,
  Yes,
  // demo
  NoPause,
  ConfigOnly,
  Act,
  // mxc
  Config,
  ConfigBase64,
  Debug,
  Experimental,
  TestingFeatures,
  LogFile,
  AvailableBackends,
  // srt
  Settings,
  CommandString,
  ControlFd,
  // apply
  PolicyFile,
  StatusFd,
  PrintPolicy,
  PrintSettings,
  ExecutePath,
  // several verbs
  Format,
  Verbose,
  Version,
  Color,
  ShortHelp,
  Help,
};

// What a shell may offer after the flag.
// OptionalChoice: a choice after "=", or nothing; the next word is never its value.
enum class ValueKind {
  None,
  Free,
  File,
  Directory,
  Path,
  Policy,
  Choice,
  OptionalChoice,
  Variable
};

enum class Times { Once, Many };  // Once: the last one wins

struct Flag {
  FlagId id;
  std::string_view name;      // "--policy"
  std::string_view argument;  // "FILE|PRESET", "[=auto|review|copy]"; empty: takes none
  ValueKind kind;
  Times times;
  std::string_view brief;  // one line
  std::string_view text;   // sentences for --help and the man page
  std::span<const std::string_view> choices;
};

struct FlagGroup {
  std::string_view title;
  std::span<const Flag> flags;
};

struct Operand {
  std::string_view name;
  std::string_view text;
  ValueKind kind;
  std::span<const std::string_view> choices;
};

struct Example {
  std::string_view command;  // as typed at a shell
  std::string_view text;
  int status;  // what it answers in an empty project directory
};

struct Verb {
  std::string_view name;      // "run", "policy show"
  std::string_view synopsis;  // what follows the options
  std::string_view brief;
  std::string_view text;  // paragraphs, separated by empty lines
  std::span<const FlagGroup> groups;
  std::span<const Operand> operands;
  std::span<const Example> examples;
  int usage_status;  // exit status for a bad command line
};

// In the order in which help shows them. A group stands before its sub-verbs and has no flags but
// help.
std::span<const Verb> verbs();
// By full name; null if there is none.
const Verb* find_verb(std::string_view name);
// True for a verb that only holds others: "policy", "audit".
bool is_group(const Verb& verb);
// The command without a verb.
const Verb& top_level();
// A flag of the verb, or -h and --help, which every verb has; null if there is none.
const Flag* find_flag(const Verb& verb, std::string_view name);

}  // namespace cordon
