// A policy of SafeClaw as its documents have it: rules of a path and an access, a list of system
// calls, a network. What reads it decides what of it can be held.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"
#include "cordon/error.h"

namespace cordon {

enum class SafeClawAccess { Read, Execute, Write, ReadWrite, ReadWriteExecute };
std::string_view name_of(SafeClawAccess access);
// Writing includes reading; so does executing.
bool writes(SafeClawAccess access);
bool executes(SafeClawAccess access);

struct SafeClawRule {
  std::string path;
  SafeClawAccess access = SafeClawAccess::Read;
  Place place{};  // where it was read; not a part of the rule
  bool operator==(const SafeClawRule& other) const {
    return path == other.path && access == other.access;
  }
};

struct SafeClawDomain {
  std::string text;
  Place place{};
};

struct SafeClawNetwork {
  // Unsaid: the document leaves the network to somebody else, as those for the helper do.
  enum class Reach { Unsaid, None, Localhost, Domains };
  Reach reach = Reach::Unsaid;
  std::vector<SafeClawDomain> allowed;
  std::vector<SafeClawDomain> denied;
};

struct SafeClawPolicy {
  std::vector<SafeClawRule> allow;
  std::vector<SafeClawRule> deny;
  std::vector<std::string> syscalls;
  SafeClawNetwork network;
  // Namespaces that the document does not want: "pid", "net", "mnt", "user".
  std::vector<std::string> shared_namespaces;
  std::optional<std::uint64_t> timeout_ms;
};

// The bounds of its helper. What is over one is refused, never cut.
inline constexpr std::size_t kSafeClawMostAllow = 64;
inline constexpr std::size_t kSafeClawMostDeny = 16;
inline constexpr std::size_t kSafeClawMostSyscalls = 256;
inline constexpr std::size_t kSafeClawLongestSyscall = 31;
inline constexpr std::size_t kSafeClawLongestPath = 4095;
inline constexpr std::uint64_t kSafeClawMostTimeout = 0xFFFFFFFF;

// "filesystem" and "syscalls" must be there; a key that nobody knows is refused wherever it stands.
// Whether a name is a system call is not looked at. Errors carry the place.
Result<SafeClawPolicy> decode_safeclaw(const Node& document, const std::string& file);
Node encode_safeclaw(const SafeClawPolicy& policy);

// The outer layer of a policy of SafeClaw: settings of sandbox-runtime, which holds what the helper
// cannot (files that may not be read below a grant, protected names, the network).

// Reading is open there but for `credentials`; the helper's rules narrow it inside.
Node to_runtime_config(const SafeClawPolicy& policy, const std::vector<std::string>& credentials);

// The lists of system calls that policies for SafeClaw's helper are made with.

enum class SafeClawProfile {
  Default,         // its helper's own 27: enough for a static program that opens no file
  MinimalDynamic,  // these, and what loading a dynamic program takes
  Development,     // compilers, interpreters, git, tar
};
std::optional<SafeClawProfile> parse_safeclaw_profile(std::string_view word);

// Names of both architectures: the helper knows which of them mean another call here.
std::vector<std::string> safeclaw_calls(SafeClawProfile profile);

}  // namespace cordon
