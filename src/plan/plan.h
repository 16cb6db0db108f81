// Plan: a clamped policy compiled for one host, as an ordered list of operations. It is data: it
// can be printed (--dry-run), compared (golden tests) and carried out, and all three see the same
// list. Inside paths are absolute in the new root.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/clamp.h"
#include "policy/host_facts.h"
#include "policy/protected_names.h"

namespace cordon {

enum class MountAccess { ReadOnly, ReadWrite };

// What an object below a path may be used for in the Landlock layer.
enum class LandlockUse {
  List,         // directory listing only
  Read,         // read and list
  ReadExecute,  // read, list and execute
  ReadWrite,    // everything but devices
  Device,       // read, write and ioctl of device nodes
};

enum class LimitBy { None, CgroupV2, CgroupV1, Rlimit, Tmpfs, Clock, Relay, Broker, Watch, Gate };

namespace op {

// Carried out by the first process inside, before the command exists.
struct EnterNamespaces {
  bool own_network = true;
};
struct MapIdentity {
  std::uint32_t outside_uid = 0, outside_gid = 0, inside_uid = 0, inside_gid = 0;
};
struct PrivateMounts {};
struct NewRoot {
  std::uint64_t bytes = 0;
};
struct MakeDirectory {
  std::string path;
  unsigned mode = 0755;
};
// A place to mount on inside a directory that lasts from run to run, where an earlier run may have
// left anything: it is reached without following a symlink, and may be there already.
struct MountPoint {
  std::string path;
  FileKind kind = FileKind::Directory;
};
struct MakeFile {
  std::string path;
  std::string content;
  unsigned mode = 0444;
};
struct MakeSymlink {
  std::string path;
  std::string target;
};
// A root-owned part of the system at its own path. It is read-only from ReadOnlySoFar on.
struct BindSystem {
  std::string path;
};
// Everything mounted until here, the root itself left out: one call for all of it.
struct ReadOnlySoFar {};
// A host object at its own path. `id` is compared with what the name leads to at that moment.
struct Bind {
  std::string source;
  std::string path;
  MountAccess access = MountAccess::ReadOnly;
  FileKind kind = FileKind::Directory;
  FileId id;  // zero: not compared, for directories of Cordon's own and entries of "/"
};
// An object inside a writable grant, bound over itself: read-only, or only so that it cannot be
// renamed away.
struct Hold {
  std::string path;
  FileId id;
  MountAccess access = MountAccess::ReadOnly;
  std::string reason;
};
// An object inside a writable grant, covered by a copy of it that is this run's own: `source` on
// the host's disk, made before the launch. Whatever is done to the copy, the object keeps its
// content.
struct PrivateCopy {
  std::string source;
  std::string path;
  FileKind kind = FileKind::Directory;
  FileId id;  // of the object that is covered
  std::string reason;
};
// A writable grant of a staged run, as an overlay: the host's directory below, and above it
// `upper`, which takes everything that is written. Both `upper` and `work` are directories of
// Cordon's own, made before the launch. Without `work` there is no overlay: `upper` is a copy of
// the host's directory and stands in its place. What the host's directory holds is not changed by
// anything that is done inside.
struct StagedTree {
  std::string path;
  FileId id;  // of the host's directory
  std::string upper;
  std::string work;    // empty: `upper` is a copy
  std::string steady;  // a layer between the two; or empty
};
// A directory of a private place that only leads to a grant: read-only, with what is mounted below
// it as it is.
struct ReadOnlyWay {
  std::string path;
};
// An object inside a grant that must not be seen: EACCES for a file, empty for a directory.
struct Mask {
  std::string path;
  FileKind kind = FileKind::Directory;
  FileId id;
  std::string reason;
  // It lies in a StagedTree: an overlay gives its objects numbers of its own, so that `id` is
  // compared with what the host has under this name.
  bool staged = false;
};
// A read-only directory of its own at `path`, with a place for each entry to be bound to, and with
// the symlinks themselves: what appears in the host's directory later is not there inside.
struct Skeleton {
  struct Entry {
    std::string name;
    FileKind kind = FileKind::Regular;
    std::string target;  // of a symlink; empty for everything else
    bool bound = false;  // a Bind of its own shows it; else it is granted, masked or a symlink
  };
  std::string path;
  FileId id;  // of the directory that it covers; zero: a mount point made for it
  std::vector<Entry> entries;
};
struct Scratch {
  std::uint64_t bytes = 0;
  std::uint64_t inodes = 0;
};
// A directory of the scratch space at a path of its own, so that all share one bound.
struct ScratchDirectory {
  std::string name;
  std::string path;
  unsigned mode = 0700;
};
struct ScratchFile {
  std::string name;  // below the scratch space
  std::string content;
  unsigned mode = 0600;
};
// `path` (a git config) becomes a mounted symlink to a private copy.
struct PrivateConfig {
  std::string path;
  FileId id;
  std::string name;    // of a directory below the scratch space, for the symlink
  std::string target;  // the path of the copy inside
};
struct MountProc {};
struct MaskProc {
  std::string path;
  FileKind kind = FileKind::Regular;
};
struct DeviceNode {
  std::string path;  // inside and outside are the same
};
struct MountDevpts {};
struct LoopbackUp {};
// Two sockets at 127.0.0.1:53 of the new network, for the supervisor to answer names on.
struct OpenResolver {};
// Sockets of the new network for the supervisor, which connects them to what is published.
struct OfferSockets {
  std::vector<PublishRule> publish;
};
struct HostName {
  std::string name;
};
struct PivotRoot {};
struct LandlockAllow {
  std::string path;
  LandlockUse use = LandlockUse::Read;
  FileKind kind = FileKind::Directory;
  FileId id = {};         // compared with what the name leads to; zero: not compared
  bool optional = false;  // left out where there is no such file
};
struct ReadOnlyRoot {};

// A foreign executor, in the view built so far: by this document it shows that view to Cordon's own
// program, which it starts. What it shows is measured against the operations before.
struct RunExecutor {
  std::string path;
  std::string sha256;  // its pin
  std::string document;
};
// An OCI runtime, of a bundle: it makes the namespaces and the mounts of the operations before.
// What it shows is measured against them.
struct RunBundle {
  // Something that lies in the bundle.
  struct Entry {
    enum class Kind { Directory, File, Symlink };
    std::string path;  // relative, normal
    Kind kind = Kind::File;
    std::string content;  // of a file; the target of a symlink
    unsigned mode = 0644;
    bool operator==(const Entry&) const = default;
  };
  std::string runtime;    // its name: "runc"
  std::string program;    // where that is installed
  std::string directory;  // of the host, for this run alone: the bundle, and what the runtime keeps
  std::vector<Entry> entries;  // parents first
};
// In place of a pid namespace: what descends from this process can be signalled by it and by nobody
// that descends from it, and comes back to it when its own parent ends.
struct ScopeProcesses {};

// Carried out by the command's own process, in this order, before it becomes the command.
struct ResourceLimit {
  std::string name;  // "nofile", "nproc", "data", "fsize", "cpu", "core"
  std::uint64_t value = 0;
};
// In a profile of macOS, whose own program becomes the command.
struct LoadProfile {
  std::string program;
  std::string text;
  NetMode net = NetMode::None;  // what of the network the text permits
};
struct NoNewPrivileges {};
struct RestrictLandlock {
  int abi = 0;
};
struct CloseDescriptors {};
struct NewSession {};
struct NewKeyring {};
struct DropCapabilities {
  bool bounding = true;  // else only what gives rights: the bounding set takes CAP_SETPCAP
};
struct InstallSeccomp {
  NetMode net = NetMode::None;
  bool brokered = false;     // the supervisor answers connect and bind; without it no local sockets
  bool shares_host = false;  // no namespaces: what they would hold is refused
  bool staged = false;       // the supervisor is shown renames
  bool watched = false;      // the supervisor is shown every call that takes a path
};
struct ChangeDirectory {
  std::string path;
};
struct Execute {
  std::vector<std::string> argv;
};

}  // namespace op

using Op =
    std::variant<op::EnterNamespaces, op::MapIdentity, op::PrivateMounts, op::NewRoot,
                 op::MakeDirectory, op::MountPoint, op::MakeFile, op::MakeSymlink, op::BindSystem,
                 op::ReadOnlySoFar, op::Bind, op::Hold, op::PrivateCopy, op::StagedTree,
                 op::ReadOnlyWay, op::Mask, op::Skeleton, op::Scratch, op::ScratchDirectory,
                 op::ScratchFile, op::PrivateConfig, op::MountProc, op::MaskProc, op::DeviceNode,
                 op::MountDevpts, op::LoopbackUp, op::OpenResolver, op::OfferSockets, op::HostName,
                 op::PivotRoot, op::LandlockAllow, op::ReadOnlyRoot, op::RunExecutor, op::RunBundle,
                 op::ScopeProcesses, op::ResourceLimit, op::NoNewPrivileges, op::RestrictLandlock,
                 op::CloseDescriptors, op::NewSession, op::NewKeyring, op::DropCapabilities,
                 op::InstallSeccomp, op::LoadProfile, op::ChangeDirectory, op::Execute>;

// A limit and the mechanism that holds it on this host.
struct PlannedLimit {
  std::string name;  // as in [limits]: "pids", "memory", ...
  std::uint64_t value = 0;
  LimitBy by = LimitBy::None;
  bool operator==(const PlannedLimit&) const = default;
};

// A git configuration and the file on the host's disk that stands for it inside.
struct ConfigCopy {
  std::string path;
  FileId id;
  std::string content;
  std::string copy;
};

struct Plan {
  BackendKind backend = BackendKind::Native;
  std::vector<Op> build;    // in the first process
  std::vector<Op> confine;  // in the command's process, up to the point where it waits
  std::vector<Op> seal;     // in the first process again, before the command is released
  std::vector<PlannedLimit> limits;
  std::vector<std::string> argv;
  std::vector<std::string> candidates;   // the paths to try for argv[0], in order
  std::vector<std::string> environment;  // "NAME=value"
  std::string cwd;                       // inside
  std::vector<Reduction> reductions;     // what planning had to take away
  std::vector<Layer> missing;            // layers a ceiling accepted to go without
  std::vector<Loss> lost;                // what this host or backend cannot hold
  Keeping keeping;                       // protected files that nothing holds while it runs
  std::vector<ConfigCopy> configs;       // to be written before the launch
  std::optional<Credential> credential;  // of the agent; no view shows what it says
};

struct PlanRequest {
  std::vector<std::string> argv;
  std::string cwd;              // where the command should start
  std::string persistent_home;  // host directory, if the policy asks for one
  std::string cache_directory;  // host directory, if the policy asks for caches
  // Host directory of this run alone, which does not exist yet: the private places of a backend
  // without mounts, or the private copies of what is held.
  std::string private_directory;
  // Of a run with rules for requests: a host directory, which does not exist yet, with the
  // certificates that programs inside are to trust (plan/trust_files.h). Empty: there are no such
  // rules.
  std::string trust_directory;
  // The host's file that these begin with; empty: there is none.
  std::string trust_source;
  // Host directory of a staged run, which does not exist yet: writable grants are overlays whose
  // upper directories lie in it. Empty: what is written is written at once.
  std::string stage_directory;
  bool stage_is_copy = false;  // no overlays: copies in that directory
  bool watched = false;        // what is asked for and refused is to be told
  // The backend can cover what is held by copies in that directory. Else it is held read-only.
  bool private_copies = false;
  // Single files among what is held that git replaces or removes, which no mount lets it: tracked
  // by a repository in the grants, or the `.git` of a submodule that is.
  std::set<std::string> tracked;
};

// A rule for the addresses that stand for names inside could not be told from a name.
Result<void> refuse_synthetic(const NetRules& net);

// Pure. Refuses (Unsupported, Unavailable) what this host cannot hold in full.
Result<Plan> make_native_plan(const Clamped& clamped, const HostFacts& facts, const Caller& caller,
                              const PlanRequest& request);

// The same for a foreign executor that was pinned. What its sandbox cannot hold is Unsupported.
struct ExecutorChoice {
  std::string path;
  std::string sha256;
};
Result<Plan> make_mxc_plan(const Clamped& clamped, const HostFacts& facts, const Caller& caller,
                           const PlanRequest& request, const ExecutorChoice& executor);

// The same for the landlock backend, which has no namespaces: every ceiling must accept that.
// Refuses whatever only a mount view or a network of its own could hold.
Result<Plan> make_landlock_plan(const Clamped& clamped, const HostFacts& facts,
                                const Caller& caller, const PlanRequest& request);

// One line, as --dry-run prints it and as an error names it: `bind read-only /usr`.
std::string describe(const Op& operation);
std::string describe(const PlannedLimit& limit);
std::string_view name_of(LimitBy by);
// What a view shows of "NAME=value": a credential without its value.
std::string describe_variable(const std::string& variable, const Plan& plan);
// The whole plan as a readable list.
std::string describe(const Plan& plan);

}  // namespace cordon
