// Outcome: what became of a command that was started, and what was really enforced around it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cordon/loss.h"
#include "cordon/policy.h"

namespace cordon {

// One thing the clamp took away. Those of a run that was started are of documents and presets.
struct Reduction {
  // Why it was taken away.
  enum class Because {
    OutsideCeiling,
    Narrowed,
    SymlinkEscape,
    Nonexistent,
    Unenforceable,
    Malformed,
    Forbidden,
    Login  // a variable whose value may hold a user or a password
  };
  std::string what;                // "read", "write", "net", "allow", "env", "limits.wall", ...
  std::string asked;               // as the caller spelled it
  std::optional<std::string> got;  // what remained, if anything
  Because because = Because::OutsideCeiling;  // why it was taken away
  Origin origin = Origin::Document;           // who had asked
  auto operator<=>(const Reduction&) const = default;
};

// One thing the kernel, a limit or the broker refused while the command ran. Only with evidence.
struct Denial {
  // The limit's name, or "git", "syscall", "connect", "resolve", "stage"; of a run whose paths were
  // watched "read", "write" and "exec".
  std::string what;
  std::string detail;       // the bound or the argument
  std::string layer;        // "cgroup", "rlimit", "tmpfs", "seccomp", "broker", "mounts", ...
  std::uint64_t count = 1;  // how often
  std::string path;         // that was asked for, or HOST:PORT; empty: it is about neither
  std::string access;       // "read", "write", "exec" or "connect"; empty as `path` is
  std::string rule;         // that decides; empty: none did, or it is not known
  std::string change;       // what permits it; empty: nothing does, or nobody asked
  // False where a watch saw what the command asked for, and not what came of it.
  bool certain = true;
  bool operator==(const Denial&) const = default;
};

// One destination that the command tried to reach in network mode allow.
struct Connection {
  std::string host;         // the name it was reached by; empty: by its address
  std::string address;      // the real one; empty if it was refused before one was known
  std::uint16_t port = 0;   // that was asked for
  bool allowed = false;     // what was decided
  std::string rule;         // that decided
  std::string reason;       // why it was refused; empty if it was not
  std::string error;        // the errno of a connection that was allowed and failed: "ECONNREFUSED"
  std::uint64_t count = 1;  // attempts like this one
  // Bytes of all of them together, as the kernel counted them; absent where it could not be asked.
  std::optional<std::uint64_t> sent;
  // As `sent`.
  std::optional<std::uint64_t> received;
  bool operator==(const Connection&) const = default;
};

// Requests of one kind to a host that is reached by requests alone.
struct SentRequests {
  std::string rule;            // that decides
  std::string method;          // as it was written; empty: it could not be read
  std::string host;            // "HOST:PORT"
  unsigned status = 0;         // of the answer; 0: there was none
  std::uint64_t sent = 0;      // bytes to the host, of all of them together
  std::uint64_t received = 0;  // the same from it
  std::uint64_t count = 1;     // requests like this one
  std::string refused;         // why nothing was sent, or it was not sent on; empty: it was
  bool operator==(const SentRequests&) const = default;
};

// What came of a port of the host's loopback that led to a server inside.
struct Published {
  std::uint16_t host_port = 0;    // of the host's loopback
  std::uint16_t port = 0;         // inside
  std::uint64_t connections = 0;  // that reached a server
  std::uint64_t refused = 0;      // that found none
  std::uint64_t received = 0;     // bytes that went in
  std::uint64_t sent = 0;         // bytes that came out
  bool operator==(const Published&) const = default;
};

// A protected file that the run made appear, or changed where it could not be held. `moved_to` is
// empty for what is only reported.
struct Quarantined {
  std::string path;       // as seen from where the command was started
  std::string kind;       // what makes it protected: "editor", "git"
  std::string moved_to;   // where it is now
  bool restored = false;  // what was there before the run is back
  std::string original;   // what was there before the run, where the newer one stays; or empty
  bool operator==(const Quarantined&) const = default;
};

// The one credential of its agent that a run was given: what it is called, never what it says.
struct Credential {
  // A variable of the environment, a login file, or a variable that is added to requests outside
  // and holds a placeholder inside.
  enum class Kind { Variable, Login, Outside };
  std::string agent;           // "claude"
  Kind kind = Kind::Variable;  // which of them
  std::string label;           // the variable's name, or the login file below the home
  bool copied = false;         // by this run, from the host's login file
  bool operator==(const Credential&) const = default;
};

// Read back from inside the sandbox before the command started, never taken from the plan.
struct Enforcement {
  std::string backend;        // the mechanism: "native"
  bool namespaces = false;    // the command has its own
  bool pivot_root = false;    // the root is a new one
  bool bind_mounts = false;   // each is what was judged, and read-only where planned
  bool landlock = false;      // Landlock refuses what is not granted
  int landlock_abi = 0;       // the version of Landlock; 0: none
  bool seccomp = false;       // the filter of system calls is on
  bool cap_drop = false;      // all capability sets are empty
  bool no_new_privs = false;  // executing a program gives no privilege
  std::string network;        // "none", "allow", "open"
  std::map<std::string, std::string> limits;  // limit -> what holds it: "cgroup", "rlimit", ...
  std::vector<std::string> missing;           // layers a ceiling accepted to go without
  std::vector<Loss> lost;                     // what this host or backend cannot hold
  bool operator==(const Enforcement&) const = default;
};

// What all processes of a run used together.
struct Usage {
  std::uint64_t cpu_ms = 0;         // processor time
  std::uint64_t max_rss_bytes = 0;  // the most memory at one time
  bool operator==(const Usage&) const = default;
};

// It ended by itself.
struct Exited {
  int code = 0;  // its exit status
  bool operator==(const Exited&) const = default;
};
// A signal that Cordon did not send ended it.
struct Signaled {
  int signal = 0;  // its number
  bool operator==(const Signaled&) const = default;
};
// Killed at the limit of the wall clock.
struct TimedOut {
  std::uint64_t limit_ms = 0;  // the limit
  bool operator==(const TimedOut&) const = default;
};
// Killed at a bound other than the wall clock: "oom", "output", "sent", "scratch" or "pids".
struct OverLimit {
  std::string reason;  // which bound
  bool operator==(const OverLimit&) const = default;
};
// Ended by the caller; `signal` is the one that was forwarded, 0 for a cancelled library call.
struct Cancelled {
  int signal = 0;  // its number
  bool operator==(const Cancelled&) const = default;
};
// How a command ended.
using End = std::variant<Exited, Signaled, TimedOut, OverLimit, Cancelled>;

// What is kept of a captured stream.
struct Stream {
  std::string head;         // the first bytes
  std::string tail;         // the last bytes, empty unless something between was dropped
  std::uint64_t bytes = 0;  // everything the command wrote
  // Whether something between head and tail was dropped.
  [[nodiscard]] bool truncated() const { return bytes > head.size() + tail.size(); }
  // Head and tail as valid UTF-8 with a marker where bytes were dropped.
  [[nodiscard]] std::string text() const;
  bool operator==(const Stream&) const = default;
};

// What kind of rule a hint goes by.
enum class HintRule {
  Absent,     // nothing grants it
  ReadOnly,   // the grant that covers it is for reading
  Denied,     // a deny, which wins over every grant
  Hidden,     // masked: no grant shows it
  Protected,  // what tools and agents load: the host keeps its own
  System,     // a write into a directory of the system
  Network,    // no rule allows the host
  Call,       // a system call that is refused in every sandbox
};

// A path or a host among the arguments or the error messages of a command that failed, which its
// policy does not grant; or a system call that no sandbox permits. A guess: nobody watched what the
// command did.
struct Hint {
  std::string access;  // "read", "write", "connect" or "call"
  std::string path;    // absolute; HOST:PORT of a connection; what was called
  std::string rule;    // what decides
  std::string change;  // what grants it; empty: nothing does, or it was judged by the policy alone
  HintRule kind = HintRule::Absent;  // of the rule, if it was judged by the policy alone
  bool operator==(const Hint&) const = default;
};

// What became of a command that was started.
struct Outcome {
  End end;                              // how it ended
  std::uint64_t duration_ms = 0;        // from the start to the end of its last process
  std::optional<Stream> out;            // present if the stream was captured
  std::optional<Stream> err;            // the same of the other one
  Usage usage;                          // of its whole tree
  std::vector<Denial> denials;          // refused with evidence
  std::vector<Connection> connections;  // in network mode allow, every attempt
  std::vector<Published> published;     // one for each port
  std::vector<SentRequests> requests;   // to hosts that are reached by requests alone
  std::vector<Quarantined> handoff;     // protected files that appeared
  std::vector<Hint> hints;              // why it may have failed
};

// The status a shell would see: the code, 128+n, 124 for the wall clock, 137 for other limits.
int exit_status(const End& end);
// "SIGTERM", or "SIGRTMIN+3".
std::string signal_name(int signal);
// "outside-ceiling"
std::string_view name_of(Reduction::Because because);
// For people, on one line and safe to print: `reduced write /x: outside-ceiling`.
std::string reduction_line(const Reduction& reduction);

}  // namespace cordon
