// Tree: the directory structure of the new root while a plan is written. It knows which paths exist
// already, so that every mount point is made exactly once and parents come before children.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/policy.h"
#include "plan/plan.h"

namespace cordon {

class Tree {
 public:
  explicit Tree(std::vector<Op>& operations) : operations_(operations) {}

  // Makes `path` and its ancestors as empty directories unless they exist.
  void directory(const std::string& path, unsigned mode = 0755);
  void file(const std::string& path, std::string content, unsigned mode = 0444);
  void symlink(const std::string& path, std::string target);
  // A host object at `path`. The mount point is made if it is not part of a bound tree already.
  void bind(const std::string& source, const std::string& path, MountAccess access, FileKind kind,
            FileId id);
  // The same, with what is written to it kept apart.
  void staged(op::StagedTree tree);
  // A directory of its own at `path`, which is to be filled with binds of `entries`. `id` is that
  // of the host's directory, compared where the host's is what it covers; zero: it is not.
  void skeleton(const std::string& path, FileId id, std::vector<op::Skeleton::Entry> entries);
  // A part of the system at its own path, read-only once ReadOnlySoFar is carried out.
  void bind_system(const std::string& path, FileKind kind);
  // A directory of Cordon's own that lasts from run to run. Mount points below it are made anew.
  void bind_persistent(const std::string& source, const std::string& path);
  // A directory of the scratch space at `path`; what is below it can be made freely.
  void scratch(const std::string& name, const std::string& path, unsigned mode);

  // True if `path` is there inside: made here, or below a bound host directory.
  [[nodiscard]] bool exists(std::string_view path) const;
  // True if what is at `path` comes from the host: a bound object, or something below one.
  [[nodiscard]] bool from_host(std::string_view path) const {
    return nearest(path) == Kind::Bound || nearest(path) == Kind::Staged;
  }
  // True if what is made at `path` lies in a directory of the sandbox's own, gone with the run.
  [[nodiscard]] bool is_made(std::string_view path) const { return nearest(path) == Kind::Made; }

 private:
  enum class Kind { Made, Bound, Staged, Persistent };
  // The nearest mount or made directory at or above `path`.
  [[nodiscard]] Kind nearest(std::string_view path) const;
  void mount_point(const std::string& path, FileKind kind);

  std::vector<Op>& operations_;
  std::map<std::string, Kind, std::less<>> made_;
};

// ShownGrants: the grants of a policy that no mask hides. What is below a masked directory is
// masked with it, in every backend.

struct ShownGrants {
  std::vector<Grant> read;
  std::vector<Grant> write;
};
// What is hidden is told in `plan`.
ShownGrants shown_grants(const Effective& effective, const HostFacts& facts, Plan& plan);

// The names by which the caller knows homes, the current directory and what is granted, where they
// lead through a symlink of the host: scripts, settings and virtual environments have them written
// down. None is below another.
std::vector<LinkedName> linked_names(const ShownGrants& grants, const Caller& caller);

// PrivatePlaces: the private home and space of a run whose mechanism has no mounts. The host's own
// home and /tmp stay where they are, out of reach; variables lead elsewhere.

struct PrivatePlaces {
  std::string home;       // in place of the caller's; empty: the caller's own
  std::string temporary;  // in place of /tmp; empty: as it is
  std::string caches;     // empty: none
  // Those of them that there are.
  [[nodiscard]] std::vector<std::string> all() const;
};

// True if a grant covers `path`.
bool shows(const ShownGrants& grants, std::string_view path);

// Adds to the plan what makes them, and the bound of the private space.
PrivatePlaces plan_private_places(const Effective& effective, const HostFacts& facts,
                                  const Caller& caller, const PlanRequest& request,
                                  const ShownGrants& grants, Plan& plan);

// The variables by which tools of builds keep what they download in `caches`, which lasts from run
// to run, and find what the policy shows of the person's own. None that the policy or an option
// sets.
void add_cache_variables(const Effective& effective, const Caller& caller,
                         const std::string& caches, Plan& plan);

// The command of the request, with variables that lead to the places.
void plan_command_among(const PrivatePlaces& places, const Effective& effective,
                        const Caller& caller, const PlanRequest& request, Plan& plan);

// The files of /etc that are written for a sandbox rather than shown from the host.

struct SystemFile {
  std::string path;
  std::string content;
};

// passwd and group with root, nobody and the caller; nsswitch.conf and hostname.
std::vector<SystemFile> system_files(std::uint32_t uid, std::uint32_t gid, const std::string& user,
                                     const std::string& home);
// hosts and resolv.conf of a sandbox that has only its own loopback, and perhaps a resolver on it.
std::vector<SystemFile> isolated_network_files(bool has_resolver);

// What a command is given whatever mechanism contains it: its environment, its credential, and the
// places where its program is looked for.

// Of a plan whose argv and cwd are set.
void plan_command(const Effective& effective, const Caller& caller, Plan& plan);

}  // namespace cordon
