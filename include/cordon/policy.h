// Policy: what one run asks for, as written. It names intent only: no kernel word, no looked-up
// path. A Ceiling is the same document read as the most the operator permits.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/backend_kind.h"
#include "cordon/result.h"

namespace cordon {

// Who asked for a part of a policy. What a document or a preset asks for and may not have is taken
// away and reported; an option of the command line that cannot be granted refuses the run.
enum class Origin { Document, Option };

// One entry of a path list as a person wrote it: absolute, "~", "~/x", "@cwd", "@system",
// "@toolchains", or relative to `base`, which is the policy's own directory (the current directory
// on the command line).
struct PathRule {
  std::string text;
  std::string base;
  Origin origin = Origin::Document;
  bool operator==(const PathRule&) const = default;
};

enum class NetMode { None, Allow, Open };  // strictest first

// A name or address with a port range, parsed. Names are lower case without a trailing dot.
struct HostRule {
  enum class Kind { Name, Subdomains, Address4, Address6 };
  Kind kind = Kind::Name;
  std::string name;                        // Name, and Subdomains without its "*."
  std::array<std::uint8_t, 16> address{};  // Address4 uses the first four bytes
  unsigned prefix = 0;                     // bits of an address rule
  bool ranged = false;  // one address that only a range admits ("10.1.2.3/32"): it is not named
  std::uint16_t first_port = 1;
  std::uint16_t last_port = 65535;
  auto operator<=>(const HostRule&) const = default;
};

// A port of the host's loopback that leads to a server inside.
struct PublishRule {
  std::uint16_t host_port = 0;
  std::uint16_t port = 0;  // inside
  auto operator<=>(const PublishRule&) const = default;
};

struct NetRules {
  NetMode mode = NetMode::None;
  std::vector<HostRule> allow;
  std::vector<HostRule> deny;
  std::vector<PublishRule> publish;
  std::vector<PathRule> sockets;  // local sockets of the host that may be connected to, in any mode
  bool operator==(const NetRules&) const = default;
};

// The environment is built from nothing: a fixed baseline, then `pass` from the caller, then `set`.
struct EnvRules {
  std::vector<std::string> pass;
  std::map<std::string, std::string> set;
  bool operator==(const EnvRules&) const = default;
};

enum class HomeMode { None, Private, Persistent };  // strictest first

struct FsRules {
  std::vector<PathRule> read;
  std::vector<PathRule> write;
  std::vector<PathRule> deny;  // globs; without '/' they match at any depth of every grant
  std::optional<std::uint64_t> scratch;  // bytes of private tmpfs; absent: no writable temp at all
  HomeMode home = HomeMode::None;
  bool caches = false;  // persistent private tool caches at ~/.cache
  // A protected file that the run changed into what one of the person's own branches has at the
  // same path goes through.
  bool trust_tracked = true;
  bool operator==(const FsRules&) const = default;
};

struct Limits {
  std::optional<std::uint64_t> wall_ms;
  std::optional<std::uint64_t> cpu_ms;  // processor time of one process
  std::optional<std::uint64_t> memory;  // bytes
  std::optional<std::uint64_t> pids;
  std::optional<std::uint64_t> cpus_milli;    // thousandths of a processor
  std::optional<std::uint64_t> files;         // open descriptors of one process
  std::optional<std::uint64_t> file_size;     // bytes of one file
  std::optional<std::uint64_t> output;        // bytes kept per captured stream
  std::optional<std::uint64_t> output_total;  // bytes after which the command is killed
  std::optional<std::uint64_t> connections;   // made to the outside in network mode allow
  std::optional<std::uint64_t> sent;  // bytes sent over them after which the command is killed
  bool operator==(const Limits&) const = default;
};

enum class Layer { Namespaces, Landlock, Seccomp, Capabilities, Cgroup };

struct RequireRules {
  std::vector<Layer> layers;
  std::vector<Layer> accept_missing;  // legal in a ceiling only
  // The backends that may carry out a run, legal in a ceiling only. Absent: any.
  std::optional<std::vector<BackendKind>> backends;
  bool operator==(const RequireRules&) const = default;
};

// Changes to the table of protected names: what the host runs or loads by itself. An entry is one
// name, or "a/b" for the name b directly below a. `release` is legal in a ceiling only.
struct ProtectRules {
  std::vector<std::string> add;
  std::vector<std::string> release;
  bool operator==(const ProtectRules&) const = default;
};

// The agent a run is for, and whose credential it may have. Without a name it is for none.
struct AgentRules {
  std::string name;          // of a known agent: "claude"
  bool share_login = false;  // copy the host's login file into the private home that is kept
  bool operator==(const AgentRules&) const = default;
};

// Which parts options of the command line asked for. Each stands in its list as well; a path rule
// says so itself.
struct OptionRequests {
  bool net = false;  // the network mode
  std::vector<HostRule> allow;
  std::vector<std::string> env;     // names
  std::vector<std::string> limits;  // keys of [limits]
  bool scratch = false;
  bool operator==(const OptionRequests&) const = default;
};

// What becomes of a run whose audit record cannot be written; legal in a ceiling only.
enum class AuditFailure { Deny, Buffer, Warn };  // strictest first

struct Policy {
  std::string name;  // "workspace", a file, "command line": for messages and reports
  std::string file;  // it was read from, if any: a run that could write it is refused
  FsRules fs;
  NetRules net;
  EnvRules env;
  Limits limits;
  RequireRules require;
  AgentRules agent;
  ProtectRules protect;
  OptionRequests options;

  // A built-in preset: strict, workspace, readonly, build, agent.
  static Result<Policy> preset(std::string_view name);
  // Reads TOML or JSON, by suffix. Refuses a file that is a symlink or that others may write.
  static Result<Policy> from_file(const std::string& path);

  bool operator==(const Policy&) const = default;
};

// Which object a path named when it was looked at. A pin on it prevents inode reuse.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  auto operator<=>(const FileId&) const = default;
};

// What a person may approve beyond a ceiling while a server runs. By itself it permits nothing.
struct AskRules {
  std::vector<PathRule> read;
  std::vector<PathRule> write;
  std::vector<HostRule> net;
  std::optional<std::uint64_t> expires_ms;  // the longest that an approval holds
  bool operator==(const AskRules&) const = default;
};

// One thing that a person approved.
struct Approval {
  enum class Kind { Read, Write, Net };
  std::string id;
  Kind kind = Kind::Read;
  std::string path;  // canonical
  FileId object;     // what was there when it was approved; another one is not meant
  HostRule host;     // of Kind::Net
  bool operator==(const Approval&) const = default;
};

// The most the operator permits. Absent fs.read, fs.write, net or agent.share_login permit none of
// that kind; absent limits, env, scratch, home, caches, trust_tracked or require
// set no bound.
struct Ceiling {
  std::string id;  // where it came from: a path, or "environment"
  Policy policy;   // the lists; an absent list is empty
  bool bounds_net = true;
  std::optional<HomeMode> home;  // absent: no bound
  std::optional<bool> caches;    // absent: no bound
  std::optional<bool> trust_tracked;
  bool bounds_env = false;  // [env] was present
  AuditFailure on_audit_failure = AuditFailure::Deny;
  AskRules ask;
  std::vector<Approval> approved;  // of these counts what `ask` covers; no document holds any

  static Result<Ceiling> from_file(const std::string& path);
  bool operator==(const Ceiling&) const = default;
};

std::string_view name_of(NetMode mode);
std::string_view name_of(HomeMode mode);
std::string_view name_of(Layer layer);
std::string_view name_of(AuditFailure choice);

}  // namespace cordon
