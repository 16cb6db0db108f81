// What an engine's config.json asks of this host, taken apart key by key. A key is judged here,
// left to the judgement of the policy (judge.h), narrowed (narrow.h) or passed on because it can
// only concern the container itself; docs/oci.md has the table. A key that stands in none of these
// lists is refused: what a newer runtime does with it nobody here knows. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"
#include "cordon/policy.h"

namespace cordon::oci {

// Why something is refused: the place in the engine's document, the rule, and what would help.
struct Complaint {
  std::string where;  // "mounts[3]", "linux.devices[0]"
  std::string what;   // one clause
  std::string hint;
  Place rule = {};  // in the operator's file that decides; no file: it is Cordon's own rule
};

// A file or directory of the host that is to be seen inside.
struct AskedBind {
  std::string where;
  std::string source;       // absolute, as written
  std::string destination;  // inside, absolute and normal
  bool writable = false;
};

struct AskedNamespace {
  std::string type;
  std::string path;  // empty: a new one
};

struct Demands {
  std::vector<AskedBind> binds;
  std::string root;  // the container's root directory on this host, absolute
  bool root_writable = true;
  std::vector<AskedNamespace> namespaces;
  bool has_hooks = false;
  Limits limits;
  std::vector<std::string> variables;  // names
  std::vector<std::string> argv;
  std::string policy;  // that the annotation names; empty: none
  std::vector<Complaint> complaints;
};

inline constexpr std::string_view kPolicyAnnotation = "cordon.dev/policy";

struct DemandContext {
  std::string bundle;                  // canonical; what config.json names is relative to it
  const std::set<std::string>& hooks;  // programs that the operator lets an engine run outside
};

Demands read_demands(const Node& config, const DemandContext& context);

// The part of it that an exec gives by itself: `process` of a config.json, or the file of
// `exec --process`.
void read_process(const Node& process, const std::string& where, Demands& demands);

// The devices of every container, as "c 1:3".
bool is_plain_device(std::string_view type, std::int64_t major, std::int64_t minor);

// "CAP_CHOWN" of what engines give a container that asks for nothing.
bool is_usual_capability(std::string_view name);

// Absolute, without "." and ".." and doubled slashes; nothing if it is none of that.
std::optional<std::string> plain_path(std::string_view text);

}  // namespace cordon::oci
