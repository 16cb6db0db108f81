// The values the straight line passes on: Resolved (a policy whose paths the host has looked at),
// and Effective, the content of a Clamped.
#pragma once

#include <string>
#include <vector>

#include "base/file_id.h"
#include "base/result.h"
#include "cordon/outcome.h"
#include "cordon/policy.h"

namespace cordon {

enum class FileKind { Absent, Directory, Regular, Other };

// One granted path.
struct Grant {
  enum class Source { Policy, System, Toolchain, Cache, Repository, GitDirectory };
  std::string written;  // as the caller spelled it, for messages
  std::string lexical;  // absolute and normal, before symlinks
  std::string path;     // canonical: symlinks of the existing part resolved, the rest appended
  Source source = Source::Policy;
  FileKind kind = FileKind::Absent;
  FileId id;  // zero if absent
  Origin origin = Origin::Document;
  auto operator<=>(const Grant&) const = default;
};

// A deny: `anchor` empty means the pattern (no '/') matches names at any depth of every grant;
// otherwise `anchor` is a canonical directory and `pattern` is matched against paths below it.
// An empty pattern denies the anchor itself.
struct DenyGlob {
  std::string written;
  std::string anchor;
  std::string pattern;
  auto operator<=>(const DenyGlob&) const = default;
};

// What the table of protected names depends on besides spelling; canonical.
struct HeldPlaces {
  std::vector<std::string> homes;
  std::vector<std::string> on_path;  // directories of the caller's PATH
  std::vector<std::string> git;      // git directories at or above what may be written
  ProtectRules protect;              // what the operator added to the table, and took out
};

// A path by which a policy or a ceiling finds what it grants or lists, there or not.
struct NamedPath {
  std::string lexical;
  std::string path;  // where it leads now
  bool operator==(const NamedPath&) const = default;
};

// How much of the place to start in has to be left.
enum class Keep { Something, Writable };

// A request or ceiling after the host has resolved its paths.
struct Resolved {
  Policy policy;  // scalars, net, env, limits; its own path lists are superseded by the ones here
  std::vector<Grant> read;
  std::vector<Grant> write;
  std::vector<DenyGlob> deny;
  std::vector<Grant> sockets;
  std::vector<Reduction> reductions;  // entries dropped while resolving
  HeldPlaces held;
  std::vector<NamedPath> named;
  // Where the command is to start, canonical: a request that asks for this place and keeps nothing
  // of it is refused. Empty: nothing is to be started.
  std::string start;
  Keep keep = Keep::Something;
};

struct ResolvedCeiling {
  Ceiling ceiling;
  std::vector<Grant> read;
  std::vector<Grant> write;
  std::vector<DenyGlob> deny;
  std::vector<Grant> sockets;
  HeldPlaces held;
  std::vector<NamedPath> named;
};

// What a run gets. Lists are sorted by path and hold no duplicates; a path is in `read` or in
// `write`, never in both.
struct Effective {
  std::string name;
  std::vector<Grant> read;
  std::vector<Grant> write;
  std::vector<DenyGlob> deny;
  std::optional<std::uint64_t> scratch;
  HomeMode home = HomeMode::None;
  bool caches = false;
  bool trust_tracked = true;
  WriteMode mode = WriteMode::Live;
  StageEnd stage = StageEnd::Auto;
  NetRules net;
  std::vector<Grant> sockets;  // of the host, that may be connected to
  EnvRules env;
  Limits limits;
  std::vector<Layer> require;
  std::vector<Layer> accept_missing;
  // What every ceiling permits, in the order of BackendKind; absent: no ceiling names any.
  std::optional<std::vector<BackendKind>> backends;
  AgentRules agent;
  ProtectRules protect;
  std::vector<SecretRule> secrets;  // those that `net.http` refers to, by name
  bool operator==(const Effective&) const = default;
};

}  // namespace cordon
