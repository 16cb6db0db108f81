// Everything that is done before the first layer: afterwards nothing is read, opened or allocated.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "compat/safeclaw/safeclaw_policy.h"
#include "config/node.h"
#include "sandbox/native/seccomp_filter.h"
#include "sandbox/native/syscall_table.h"

namespace cordon::apply {

// Why a command was not started, in the exit statuses of SafeClaw's helper.

enum class Status {
  Usage = 1,
  Policy = 70,        // the document, or what it asks for cannot be held
  Landlock = 71,      // the layer of files
  Seccomp = 72,       // the layer of system calls, or a name that is none
  Capabilities = 73,  // they could not be dropped
  Execute = 74,       // the command could not be executed
  Permission = 75,    // the policy file is not the caller's alone; no_new_privs
  Identity = 76,      // started with another identity than the caller's
};

struct Refusal {
  Status status;
  std::string text;  // one line
};

template <typename T>
using Judged = tl::expected<T, Refusal>;

inline tl::unexpected<Refusal> refuse(Status status, std::string text) {
  return tl::unexpected<Refusal>(Refusal{status, std::move(text)});
}
// "text: No such file or directory"
Refusal with_errno(Status status, std::string text, int error);

// The command line of SafeClaw's helper: [--policy-file PATH] -- COMMAND [ARG]...

enum class Purpose { Run, DryRun };

struct Request {
  std::optional<std::string> policy_file;  // none: descriptor 3
  std::optional<int> status_fd;
  Purpose purpose = Purpose::Run;
  std::span<char* const> command;  // not empty
};

inline constexpr int kPolicyDescriptor = 3;

// `given` without the program's name. Every refusal has the status Usage.
Judged<Request> parse_request(std::span<char* const> given);

// The policy: where it is read from, and its strict reading. Nothing is looked up twice: what was
// opened is what is judged.

inline constexpr std::size_t kLongestPolicy = std::size_t{64} * 1024;

// The file must be a regular one, not reached through a link of that name, the caller's own and of
// mode 0600 exactly: anybody else who may write it would set the boundary.
Judged<std::string> read_policy_file(const std::string& path);
// To the end of file; the descriptor is closed.
Judged<std::string> read_policy_descriptor(int descriptor);

// Bounds and strictness as decode_safeclaw says; every refusal of the document has the status
// Policy.
Judged<SafeClawPolicy> parse_policy(const std::string& text, const std::string& name);

// The rights of Landlock that an access of a policy stands for.

enum class Target { Directory, File };

// Only rights that `abi` knows, and for a file only those that a file can have.
std::uint64_t rights_of(SafeClawAccess access, Target target, int abi);
// "READ_FILE", …
std::vector<std::string> right_names(std::uint64_t rights);

// The oldest that withholds truncating: before it a file that may only be read could be emptied.
inline constexpr int kOldestAbi = 3;

// The objects that the rules of a policy are about, each opened once: what is compared with the
// denies is what Landlock gets, whatever its name leads to by then.

struct RuleObject {
  SafeClawRule rule;
  Fd object;  // not valid: the path is not there, and the rule is left out
};

// A path that is not there is left out; one that cannot be reached otherwise is refused with the
// status Landlock.
Judged<std::vector<RuleObject>> open_rules(const std::vector<SafeClawRule>& rules);

// Landlock only grants, so a deny is held by granting nothing there; one that a grant covers, or
// that covers a grant, is refused. A denied path that is not there yet lies where its nearest
// parent that is there does.
Judged<void> check_denies(const std::vector<SafeClawRule>& denies,
                          const std::vector<RuleObject>& objects);

// Whether a rule lets what `path` leads to be executed; nothing if it is not there or cannot be
// told. Only for advice: the kernel decides.
std::optional<bool> may_execute(const std::string& path, const std::vector<RuleObject>& objects);

// A network that only an outer layer can hold: localhost, or a list of domains.

// The sockets that the policy leaves. Localhost and domains are refused unless no interface but
// loopback is up here: then there is an outer layer, and only what it lets through is reached. A
// document that says nothing of the network leaves it to whoever wrote it.
Judged<ListedSockets> sockets_of(const SafeClawNetwork& network);

// From the names of a policy to system calls of one architecture. Lists are written where the old
// calls exist; where they do not, a name means the call that does its work here.

struct NamedCalls {
  std::vector<KnownSyscall> calls;          // all there on the architecture; each once
  std::vector<std::string> renamed;         // "open: openat"
  std::vector<std::string> unanswered;      // answered ENOSYS, because no policy may permit them
  std::vector<std::string> without_effect;  // only on the other architecture, with no equivalent
};

// A name that no architecture knows, one that no policy may list, and a list without execve, which
// could start nothing, are refused with the status Seccomp.
Judged<NamedCalls> resolve_calls(std::span<const std::string> names, Arch arch);

struct RuleState {
  std::string path;
  std::uint64_t rights = 0;  // none: the path is not there, and the rule is left out
};

struct Preparation {
  int abi = 0;
  std::uint64_t handled = 0;  // rights that are withheld wherever no rule gives them
  std::vector<RuleState> rules;
  Fd ruleset;
  NamedCalls calls;
  std::vector<sock_filter> filter;
  std::vector<std::string> candidates;  // where the command is looked for, in order
  std::string advice;                   // a word about the command beforehand; empty: none
};

Judged<Preparation> prepare(const SafeClawPolicy& policy, const Request& request);
// What --dry-run answers.
Node describe(const Preparation& made);

}  // namespace cordon::apply
