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
#include "cordon/widening.h"

namespace cordon {

// Who asked for a part of a policy. What a document or a preset asks for and may not have is taken
// away and reported; an option of the command line that cannot be granted refuses the run.
enum class Origin { Document, Option };

// One entry of a path list as a person wrote it: absolute, "~", "~/x", "@cwd", "@system",
// "@toolchains", "@repo", or relative to `base`, which is the policy's own directory (the current
// directory on the command line).
struct PathRule {
  std::string text;                  // as it was written
  std::string base;                  // absolute; empty where the text is
  Origin origin = Origin::Document;  // who asked
  bool operator==(const PathRule&) const = default;
};

// A name or address with a port range, parsed. Names are lower case without a trailing dot.
// parse_host_rule() makes one from text.
struct HostRule {
  // A name, what lies below a name, or a range of addresses.
  enum class Kind { Name, Subdomains, Address4, Address6 };
  Kind kind = Kind::Name;                  // which of them
  std::string name;                        // Name, and Subdomains without its "*."
  std::array<std::uint8_t, 16> address{};  // Address4 uses the first four bytes
  unsigned prefix = 0;                     // bits of an address rule
  bool ranged = false;  // one address that only a range admits ("10.1.2.3/32"): it is not named
  std::uint16_t first_port = 1;     // of the range
  std::uint16_t last_port = 65535;  // of the range, which includes it
  auto operator<=>(const HostRule&) const = default;
};
// An exact name, "*.name" (sub-domains, not the apex), IPv4, bracketed IPv6 or CIDR, each with an
// optional port or range: "example.com:443", "*.example.com", "10.1.0.0/16:8000-8099". Refuses "*",
// wildcards of a single label or in the middle, odd IPv4 spellings (octal, hex, short forms), zone
// ids, non-ASCII names, control bytes and ports outside 1..65535.
Result<HostRule> parse_host_rule(std::string_view text);
// The text that parses to this rule.
std::string to_string(const HostRule& rule);

// A port of the host's loopback that leads to a server inside.
struct PublishRule {
  std::uint16_t host_port = 0;  // of the loopback
  std::uint16_t port = 0;       // inside
  auto operator<=>(const PublishRule&) const = default;
};

// A kind of HTTP request. The path is compared by its segments, without the query: "*" stands for
// one segment, "/**" at the end for the place itself and everything below it.
struct RequestPattern {
  std::string method;  // in capitals, or "*" for any
  std::string path;    // begins with "/"
  auto operator<=>(const RequestPattern&) const = default;
};
// "POST /v1/messages", "* /v1/models/*", "GET /files/**".
Result<RequestPattern> parse_request_pattern(std::string_view text);
// The text that parses to this pattern.
std::string to_string(const RequestPattern& pattern);

// A host that is reached by requests alone, each of which is judged outside: no connection leads
// there end to end, whatever else a policy allows.
struct HttpRule {
  HostRule host;                      // one name and one port
  std::vector<RequestPattern> allow;  // what may be asked; nothing else may
  std::vector<RequestPattern> deny;   // before `allow`
  std::vector<std::string> strip;     // headers that are taken out of a request, in lower case
  std::optional<std::uint64_t> request_bytes;   // the most that the body of a request may hold
  std::optional<std::uint64_t> response_bytes;  // the same of an answer
  std::optional<std::uint64_t> per_minute;      // requests
  bool websocket = false;                       // whether a connection may become a websocket
  std::string secret;  // the name of the one that is added to each request; empty: none
  // The variable that is set to an address inside which leads to this host; empty: that of the
  // host, if programs are known to have one.
  std::string base;
  bool operator==(const HttpRule&) const = default;
};
// "api.example.com", "api.example.com:8443": one name with one port, 443 if there is none.
Result<HostRule> parse_http_host(std::string_view text);

// A secret that is added to requests outside and never seen inside. Only the operator's own files
// define one; every other policy refers to it by its name.
struct SecretRule {
  // How it is added: as a header by itself, as the password of a user, or as a bearer token.
  enum class Kind { Header, Basic, Bearer };
  std::string name;          // by which rules refer to it
  HostRule host;             // one name and one port: it goes nowhere else
  Kind kind = Kind::Header;  // how it is added
  std::string header;        // of Kind::Header, in lower case
  std::string user;          // of Kind::Basic
  std::string from;          // "file:PATH", "file:PATH#/json/pointer", "env:NAME", "command:..."
  std::string variable;      // that holds a placeholder inside; empty: none
  std::optional<std::uint64_t> requests;  // of one run that may carry it
  bool operator==(const SecretRule&) const = default;
};

// What of the network a command can reach, and by what it is reached.
struct NetRules {
  NetAccess mode;                    // none, what `allow` lists, or everything
  std::vector<HostRule> allow;       // in mode allow
  std::vector<HostRule> deny;        // before `allow`
  std::vector<PublishRule> publish;  // where servers inside can be reached
  std::vector<HttpRule> http;        // in mode allow, hosts that are reached by requests alone
  std::vector<PathRule> sockets;  // local sockets of the host that may be connected to, in any mode
  // The person's ssh agent lists its keys and signs, and does nothing else.
  std::optional<LentSshKeys> ssh_agent;
  // One more host that may be reached, in mode allow: under another mode the list begins anew.
  void allow_host(HostRule rule);
  bool operator==(const NetRules&) const = default;
};

// The environment is built from nothing: a fixed baseline, then `pass` from the caller, then `set`.
struct EnvRules {
  std::vector<std::string> pass;           // names
  std::map<std::string, std::string> set;  // names and values
  bool operator==(const EnvRules&) const = default;
};

// Whether a command has a home directory of its own, and whether that is kept for the next run.
// Strictest first.
enum class HomeMode { None, Private, Persistent };

// Where what a run writes into its grants goes: into a layer of its own, or there at once.
// Strictest first.
enum class WriteMode { Staged, Live };
// What becomes of a stage when the run is over: a person decides about everything, or what nothing
// on the host runs is applied and the rest is held back. Strictest first.
enum class StageEnd { Review, Auto };

// Which files a command can see and change.
struct FsRules {
  std::vector<PathRule> read;   // seen, and not changed
  std::vector<PathRule> write;  // seen and changed, but for what is protected
  std::vector<PathRule> deny;   // globs; without '/' they match at any depth of every grant
  std::optional<std::uint64_t> scratch;  // bytes of private tmpfs; absent: no writable temp at all
  HomeMode home = HomeMode::None;        // the home directory that the command has
  bool caches = false;                   // persistent private tool caches at ~/.cache
  // A protected file that the run changed into what one of the person's own branches has at the
  // same path goes through.
  bool trust_tracked = true;
  WriteMode mode = WriteMode::Live;  // where that goes
  StageEnd stage = StageEnd::Auto;   // of a run that is staged
  bool operator==(const FsRules&) const = default;
};

// Bounds of what a command uses. An absent one is not set.
struct Limits {
  std::optional<std::uint64_t> wall_ms;       // after which the command is killed
  std::optional<std::uint64_t> cpu_ms;        // processor time of one process
  std::optional<std::uint64_t> memory;        // bytes
  std::optional<std::uint64_t> pids;          // processes at one time
  std::optional<std::uint64_t> cpus_milli;    // thousandths of a processor
  std::optional<std::uint64_t> files;         // open descriptors of one process
  std::optional<std::uint64_t> file_size;     // bytes of one file
  std::optional<std::uint64_t> output;        // bytes kept per captured stream
  std::optional<std::uint64_t> output_total;  // bytes after which the command is killed
  std::optional<std::uint64_t> connections;   // made to the outside in network mode allow
  std::optional<std::uint64_t> sent;      // bytes sent over them after which the command is killed
  std::optional<std::uint64_t> requests;  // sent by rules for requests
  std::optional<std::uint64_t> request_traffic;  // bytes of them and of their answers
  bool operator==(const Limits&) const = default;
};

// What must hold a run, and what may.
struct RequireRules {
  std::vector<Layer> layers;                 // a run without one of them is refused
  std::vector<MissingLayer> accept_missing;  // legal in a ceiling only
  // The backends that may carry out a run, legal in a ceiling only. Absent: any.
  std::optional<std::vector<BackendKind>> backends;
  bool operator==(const RequireRules&) const = default;
};

// Changes to the table of protected names: what the host runs or loads by itself. An entry is one
// name, or "a/b" for the name b directly below a. `release` is legal in a ceiling only.
struct ProtectRules {
  std::vector<std::string> add;      // held as well
  std::vector<std::string> release;  // no longer held
  bool operator==(const ProtectRules&) const = default;
};

// The agent a run is for, and whose credential it may have. Without a name it is for none.
struct AgentRules {
  std::string name;  // of a known agent: "claude"
  // Whether the host's login file is copied into the private home that is kept.
  std::optional<SharedLogin> share_login;
  bool operator==(const AgentRules&) const = default;
};

// Which parts options of the command line asked for. Each stands in its list as well; a path rule
// says so itself.
struct OptionRequests {
  bool net = false;                  // the network mode
  std::vector<HostRule> allow;       // hosts
  std::vector<PublishRule> publish;  // ports
  bool ssh_agent = false;            // the person's ssh agent
  std::vector<HttpRule> http;        // requests: each a host and one pattern
  std::vector<std::string> env;      // names
  std::vector<std::string> limits;   // keys of [limits]
  bool scratch = false;              // the size of the private temporary space
  bool stage = false;                // how a stage ends; that there is one can only be stricter
  bool copy_stage = false;           // a stage is a copy, also where it could be an overlay
  bool operator==(const OptionRequests&) const = default;
};

// What becomes of a run whose audit record cannot be written; legal in a ceiling only.
enum class AuditFailure { Deny, Buffer, Warn };  // strictest first

// How much of something a ceiling keeps: the audit log, of which whole days go, the oldest first;
// or what runs leave behind for later. Both absent: all.
struct KeepBounds {
  std::optional<std::uint64_t> days;   // the last so many, today included
  std::optional<std::uint64_t> bytes;  // of all of it together
  bool operator==(const KeepBounds&) const = default;
};

// What a ceiling says about the audit log.
struct AuditRules {
  AuditFailure on_failure = AuditFailure::Deny;  // if the record cannot be written
  KeepBounds keep;                               // how much of it stays
  bool operator==(const AuditRules&) const = default;
};

// What one run asks for.
struct Policy {
  std::string name;      // "workspace", a file, "command line": for messages and reports
  std::string file;      // it was read from, if any: a run that could write it is refused
  FsRules fs;            // files
  NetRules net;          // network
  EnvRules env;          // environment
  Limits limits;         // bounds
  RequireRules require;  // mechanisms
  AgentRules agent;      // whom it is for
  ProtectRules protect;  // protected names
  // What the rules of [[http]] may refer to; of a file of the operator's.
  std::vector<SecretRule> secrets;
  OptionRequests options;  // what of it cannot be reduced, only refused

  // A built-in preset: strict, workspace, readonly, build, agent.
  static Result<Policy> preset(std::string_view name);
  // Reads TOML or JSON, by suffix. Refuses a file that is a symlink or that others may write.
  static Result<Policy> from_file(const std::string& path);
  // Reads TOML. `directory` is what relative paths in it are relative to; it is absolute. An error
  // names its line and column.
  static Result<Policy> from_toml(std::string_view text, const std::string& directory);
  // The document that would be read as this policy.
  [[nodiscard]] std::string toml() const;

  bool operator==(const Policy&) const = default;
};

// What a person may approve beyond a ceiling while a server runs. By itself it permits nothing.
struct AskRules {
  std::vector<PathRule> read;               // may be asked for
  std::vector<PathRule> write;              // may be asked for
  std::vector<HostRule> net;                // may be asked for
  std::optional<std::uint64_t> expires_ms;  // the longest that an approval holds
  bool operator==(const AskRules&) const = default;
};

// The most the operator permits. Absent fs.read, fs.write, net, net.ssh_agent or agent.share_login
// permit none of that kind; absent limits, env, scratch, home, caches, trust_tracked, mode, stage
// or require set no bound.
struct Ceiling {
  std::string id;                     // where it came from: a path, or "environment"
  Policy policy;                      // the lists; an absent list is empty
  bool bounds_net = true;             // false: the network is not bounded
  std::optional<HomeMode> home;       // absent: no bound
  std::optional<bool> caches;         // absent: no bound
  std::optional<bool> trust_tracked;  // absent: no bound
  // Staged as well where only `stage` is named, and is Review; absent: no bound.
  std::optional<WriteMode> mode;
  std::optional<StageEnd> stage;  // absent: no bound
  bool bounds_env = false;        // [env] was present
  AuditRules audit;               // of the log
  KeepBounds keep;                // of stages, held files, homes and caches
  AskRules ask;                   // what a person may approve beyond it

  // As Policy::from_file.
  static Result<Ceiling> from_file(const std::string& path);
  // As Policy::from_toml.
  static Result<Ceiling> from_toml(std::string_view text, const std::string& directory);
  bool operator==(const Ceiling&) const = default;
};

// "allow"
std::string_view name_of(NetMode mode);
// "private"
std::string_view name_of(HomeMode mode);
// "staged"
std::string_view name_of(WriteMode mode);
// "review"
std::string_view name_of(StageEnd end);
// "seccomp"
std::string_view name_of(Layer layer);
// "deny"
std::string_view name_of(AuditFailure choice);
// "bearer"
std::string_view name_of(SecretRule::Kind kind);

}  // namespace cordon
