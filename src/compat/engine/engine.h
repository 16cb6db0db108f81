// Policies for engines that start what runs elsewhere: an OCI runtime, Kubernetes, Slurm.
//
// An export writes the engine's own document from the same plan that a run would carry out, and
// accounts for every part of the policy: carried, weakened, or impossible. As in every conversion
// of compat/dialect nothing is widened unsaid: what only grants is left out and told; a restriction
// that the engine cannot hold stops the export unless the caller gives it up by name; a layer that
// is required cannot be given up at all.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compat/dialect/dialect.h"
#include "plan/plan.h"
#include "policy/clamp.h"
#include "policy/host_facts.h"

namespace cordon {

enum class Engine { Oci, Kube, Slurm };
std::string_view name_of(Engine engine);

// What became of one part of a policy.
struct Carriage {
  enum class How {
    Carried,
    Weakened,    // held, but by less than a run would have
    Impossible,  // left out: a grant, or a restriction that the caller gave up
  };
  std::string key;  // as in a policy: "limits.wall", "fs.read"
  How how = How::Carried;
  std::string words;
  bool operator==(const Carriage&) const = default;
};
std::string_view name_of(Carriage::How how);

// One entry of what is written, below the directory of the export.
using ArtefactEntry = op::RunBundle::Entry;

// Makes `directory`, which must not be there yet, with all of them in it.
Result<void> write_entries(const std::string& directory, const std::vector<ArtefactEntry>& entries);

struct EngineExport {
  std::string document;                // the path of the entry that the engine is given
  std::vector<ArtefactEntry> entries;  // parents first
  std::vector<Carriage> account;
};

// The account while an export is made.
class LossReport {
 public:
  // `given_up` are the keys that the caller took out of the policy.
  explicit LossReport(std::span<const std::string> given_up) : given_up_(given_up) {}

  void carried(std::string key, std::string words);
  void weakened(std::string key, std::string words);
  // A grant, or what only helps: the result permits no more without it.
  void left_out(std::string key, std::string words);
  // A restriction.
  void cannot_hold(const std::string& key, const std::string& words);
  // A layer that the policy or a ceiling requires.
  void cannot_hold_layer(Layer layer, const std::string& words);

  // The account, with what was given up; an error that names every restriction that was not.
  Result<std::vector<Carriage>> settle(Engine engine);

 private:
  std::span<const std::string> given_up_;
  Restrictions restrictions_{{}};
  std::vector<Carriage> account_;
  std::optional<Error> layer_;
  bool asked_by_ceiling_ = false;
};

// Takes restrictions out of a policy, before any ceiling is applied to it: what a ceiling asks for
// cannot be given up. A key that stands for nothing in this policy is an error.
Result<void> give_up_restrictions(Policy& policy, std::span<const std::string> keys);

// Whether every ceiling accepts that this layer is missing, or nobody requires it.
bool may_be_missing(const Effective& effective, Layer layer);

// What is to be exported.
struct EngineRequest {
  const Clamped& clamped;
  const HostFacts& facts;
  const Caller& caller;
  std::vector<std::string> argv;
  std::string cwd;
  std::vector<std::string> given_up;
};

// The directory of a bundle, in which everything else lies beside config.json. `inside` is the path
// of cordon-inside on this host.
Result<EngineExport> export_oci(const EngineRequest& request, const std::string& inside);

struct InstalledRuntime {
  std::string name;     // "runc"
  std::string program;  // its path
};
// The same bundle for a run of Cordon's own, whose supervisor answers and holds the limits: the
// plan, with the bundle in its op::RunBundle. `wanted.private_directory` is where it will lie.
Result<Plan> plan_oci_run(const EngineRequest& request, const PlanRequest& wanted,
                          const std::string& inside, const InstalledRuntime& runtime);

struct KubeOptions {
  enum class Kind { Job, Pod, Sandbox };  // Sandbox: of kubernetes-sigs/agent-sandbox
  Kind kind = Kind::Job;
  std::string name;                   // of the objects
  std::string image;                  // by digest
  std::optional<std::string> inside;  // where the image has cordon-inside
  std::optional<std::string> runtime_class;
  std::optional<std::string> node_policy;  // that `cordon oci` on the node is to apply
};
// True if `image` names its content: NAME@sha256:<64 hexadecimal digits>.
bool is_by_digest(std::string_view image);
// True for what Kubernetes takes as the name of an object: RFC 1123, at most 63 characters.
bool is_object_name(std::string_view name);
// True for what the annotation cordon.dev/policy may hold: a name that no path can be made of.
bool is_policy_name(std::string_view name);
Result<EngineExport> export_kube(const EngineRequest& request, const KubeOptions& options);

// What a node needs of a policy, and what the scheduler is asked for it.
struct SlurmJob {
  std::string policy;                // TOML that means the same from any directory
  std::vector<std::string> options;  // of sbatch, without "--": "mem=512M"
};
Result<SlurmJob> slurm_job(const Policy& policy);

struct SlurmOptions {
  std::string name;
  std::string directory;  // where the export will lie, for the path of its policy
  std::string cordon;     // the program that the nodes start
  std::optional<std::string> partition;
};
// `policy` is the whole policy, before the ceilings of this host: those of the node count.
Result<EngineExport> export_slurm(const EngineRequest& request, const Policy& policy,
                                  const SlurmOptions& options);

// Parts that several engines share.

// The plan of this request with nothing in it that only a supervisor of Cordon's could answer: no
// broker, no overlay, no watching. The limits are those that the engine's own groups hold.
Result<Plan> plan_for_engine(const EngineRequest& request, const PlanRequest& wanted);
// Configurations of git are read-only where nobody makes their copies.
void keep_configs_read_only(Plan& plan);
// Of that plan what cordon-inside puts on the command, as it reads it.
std::string inner_layers(const Plan& plan);
// What an engine has no place for, whatever else it can: limits that only a supervisor counts,
// staged writes, local sockets, published ports, named hosts, logins, the audit log.
void lose_what_needs_a_supervisor(const Effective& effective, LossReport& report);

}  // namespace cordon
