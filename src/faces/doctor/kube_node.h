// What a node of Kubernetes tells of Cordon in the seat of its runtime, for `cordon doctor --kube`.
//
// Only what lies on the node is looked at: containerd's configuration, the programs that it names,
// the node's ceiling and policies, control groups. No program that the configuration names is
// started, and no cluster is asked. What that leaves open is in `unseen`, and is never a check.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "faces/doctor/doctor_check.h"
#include "policy/host_facts.h"

namespace cordon {

// One handler of containerd's configuration, as a RuntimeClass names it.
struct RuntimeHandler {
  std::string name;
  std::string program;                   // BinaryName; empty: the shim's own default
  std::vector<std::string> annotations;  // pod_annotations
  bool operator==(const RuntimeHandler&) const = default;
};

struct ContainerdConfig {
  std::vector<RuntimeHandler> handlers;
  bool has_imports = false;  // of files that are not read here
};
// Of a config.toml of version 2 or 3, the CRI plugin's part.
Result<ContainerdConfig> read_containerd_config(std::string_view text, const std::string& name);

// What a handler's program is, found without starting it.
struct SeatProgram {
  enum class Kind { Missing, Replaceable, Stranger, Script, Cordon };
  Kind kind = Kind::Missing;
  bool names_engine_files = false;  // a script with --engine-files for the kubelet's pods
  bool operator==(const SeatProgram&) const = default;
};

struct KubeNode {
  enum class Groups { None, V1, V2 };
  struct Handler {
    RuntimeHandler handler;
    SeatProgram program;
  };
  Groups groups = Groups::None;
  std::string config_file;
  std::optional<Error> config_error;
  bool has_config = false;
  bool has_imports = false;
  std::vector<Handler> handlers;
  std::vector<std::string> runtimes;  // runc and crun, where they are installed
  std::string ceiling_file;
  bool has_ceiling = false;
  std::optional<Error> ceiling_error;
  bool grants_kubelet_pods = false;  // read, by the ceiling
  bool opens_network = false;        // the ceiling: every pod has one
  std::string policy_directory;
  std::vector<std::string> policies;
  std::vector<Error> policy_errors;
};

// The places of a node below `system`, which is "/etc".
KubeNode collect_kube_node(const Caller& caller, const std::string& system);
// Every one of these can fail.
std::vector<Check> judge_kube_node(const KubeNode& node);
// What a look at one node cannot tell, with how to find out.
std::vector<std::string> unseen_from_node(const KubeNode& node);

}  // namespace cordon
