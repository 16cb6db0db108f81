// A policy as an OCI bundle: the operations of the native plan, one by one, as mounts of a runtime
// and as files of an empty root. Landlock, the filter and the wall clock are put on by
// cordon-inside, which the runtime starts as the container's first process.
//
// A runtime makes the mount points that are missing in the root on disk, so all of them are made
// here: the root is read-only, and nothing is ever written into it.
#include <algorithm>
#include <iterator>
#include <map>

#include "base/path.h"
#include "base/text.h"
#include "compat/engine/engine.h"
#include "compat/engine/oci_account.h"
#include "config/node.h"
#include "sandbox/bundle/bundle_init.h"
#include "sandbox/native/container_init.h"

namespace cordon {
namespace {

// Whom a bundle is for: whoever starts it later and alone, or a supervisor of Cordon's that waits
// for what it starts, hands over the plan by a descriptor and holds the limits.
enum class BundleFor { Export, Run };

constexpr std::string_view kRootfs = "rootfs";
constexpr std::string_view kOwnPlace = "/.cordon";
constexpr std::string_view kPlanInside = "/.cordon/plan";
constexpr std::string_view kProgramInside = "/.cordon/inside";
// Sources of mounts that lie in the bundle itself have this before them while the plan is made.
constexpr std::string_view kInBundle = "/.bundle";
constexpr std::uint64_t kCpuPeriod = 100'000;  // microseconds
constexpr std::uint64_t kThousandths = 1000;
constexpr unsigned kPrivate = 0700;

Node mount_node(std::string_view destination, std::string_view type, std::string_view source,
                const std::vector<std::string>& options) {
  NodeList words;
  for (const std::string& option : options) words.emplace_back(option);
  Node node;
  node.set("destination", destination).set("type", type).set("source", source);
  return node.set("options", std::move(words));
}

std::string mode_option(unsigned mode) {
  std::string digits;
  for (unsigned shift = 9;; shift -= 3) {
    digits += static_cast<char>('0' + ((mode >> shift) & 7U));
    if (shift == 0) return "mode=" + digits;
  }
}

class OciBundle {
 public:
  OciBundle(const EngineRequest& request, const Plan& plan, const std::string& inside,
            BundleFor whom)
      : request_(request),
        plan_(plan),
        effective_(request.clamped.effective()),
        inside_(inside),
        whom_(whom) {}

  void operator()(const op::EnterNamespaces& o) { own_network_ = o.own_network; }
  // What the host mounts later would appear below the grants otherwise.
  void operator()(const op::PrivateMounts&) { private_mounts_ = true; }
  void operator()(const op::MakeDirectory& o) {
    if (o.path == "/dev") return devices();
    if (!contains("/dev", o.path)) directory(o.path, o.mode);
  }
  void operator()(const op::MountPoint& o) {
    if (o.kind == FileKind::Directory) return directory(o.path, kPrivate);
    file(o.path, {}, 0600);
  }
  void operator()(const op::MakeFile& o) {
    if (contains("/dev", o.path)) return;
    const auto is_above = [&](const auto& place) { return contains(place.second, o.path); };
    // In the root it would be covered; a mount point is made by the runtime there.
    if (std::ranges::any_of(private_places_, is_above)) {
      if (!o.content.empty()) private_file(o.path, o.content, o.mode);
      return;
    }
    file(o.path,
         o.path == "/etc/passwd"  ? passwd()
         : o.path == "/etc/group" ? group()
                                  : o.content,
         o.mode);
  }
  void operator()(const op::MakeSymlink& o) {
    if (!contains("/dev", o.path)) add({in_root(o.path), ArtefactEntry::Kind::Symlink, o.target});
  }
  void operator()(const op::BindSystem& o) {
    const std::string place = in_root(o.path);
    const auto is_it = [&](const ArtefactEntry& one) { return one.path == place; };
    const auto made = std::ranges::find_if(entries_, is_it);
    const bool file = made != entries_.end() && made->kind == ArtefactEntry::Kind::File;
    read_only(o.path, o.path, file ? FileKind::Regular : FileKind::Directory);
  }
  void operator()(const op::Bind& o) {
    if (o.access == MountAccess::ReadOnly) return read_only(source(o.source), o.path, o.kind);
    read_write(source(o.source), o.path, o.kind);
  }
  void operator()(const op::Hold& o) {
    if (o.access == MountAccess::ReadOnly) return read_only(o.path, o.path, held_kind(o.path));
    read_write(o.path, o.path, held_kind(o.path));
  }
  void operator()(const op::PrivateConfig& o) {
    read_only(o.path, o.path, FileKind::Regular);
    read_only_configs_ = true;
  }
  void operator()(const op::Mask& o) {
    read_only(o.kind == FileKind::Directory ? "masks/directory" : "masks/file", o.path, o.kind);
  }
  void operator()(const op::Skeleton& o) {
    const std::string place = "skeletons/" + std::to_string(skeletons_++);
    add({"skeletons", ArtefactEntry::Kind::Directory, {}, kPrivate});
    add({place, ArtefactEntry::Kind::Directory, {}, 0755});
    for (const op::Skeleton::Entry& entry : o.entries) {
      const std::string path = join(place, entry.name);
      if (!entry.target.empty()) {
        add({path, ArtefactEntry::Kind::Symlink, entry.target});
      } else if (entry.kind == FileKind::Directory) {
        add({path, ArtefactEntry::Kind::Directory, {}, 0755});
      } else {
        add({path, ArtefactEntry::Kind::File, {}, 0});
      }
    }
    read_only(place, o.path, FileKind::Directory);
  }
  void operator()(const op::Scratch& o) {
    scratch_ = o;
    // A runtime makes a file system for each place. The bound is for all of them together, so that
    // each gets its part; an export says instead that it is for each.
    const auto places =
        static_cast<std::uint64_t>(std::ranges::count_if(plan_.build, [](const Op& operation) {
          return std::holds_alternative<op::ScratchDirectory>(operation);
        }));
    if (whom_ != BundleFor::Run || places == 0) return;
    scratch_.bytes /= places;
    scratch_.inodes /= places;
  }
  void operator()(const op::ScratchDirectory& o) {
    private_places_.emplace(o.name, o.path);
    mounts_.push_back(mount_node(
        o.path, "tmpfs", "tmpfs",
        {"nosuid", "nodev", mode_option(o.mode), "size=" + std::to_string(scratch_.bytes),
         "nr_inodes=" + std::to_string(scratch_.inodes)}));
  }
  void operator()(const op::ScratchFile& o) {
    const std::size_t slash = o.name.find('/');
    const auto place = private_places_.find(o.name.substr(0, slash));
    if (slash == std::string::npos || place == private_places_.end()) return;
    private_file(join(place->second, o.name.substr(slash + 1)), o.content, o.mode);
  }
  void operator()(const op::ReadOnlyWay& o) { ways_.push_back(o.path); }
  void operator()(const op::MountProc&) {
    std::vector<std::string> options = {"nosuid", "noexec", "nodev"};
    // The command is uid 0, and so is the owner of the files of Cordon's own first process: else it
    // could list its descriptors.
    if (whom_ == BundleFor::Run) options.emplace_back("hidepid=ptraceable");
    mounts_.push_back(mount_node("/proc", "proc", "proc", options));
  }
  void operator()(const op::MaskProc& o) { masked_.emplace_back(o.path); }
  void operator()(const op::HostName& o) { host_name_ = o.name; }

  // The runtime's own, or that of cordon-inside.
  void operator()(const op::MapIdentity&) {}
  void operator()(const op::NewRoot&) {}
  void operator()(const op::ReadOnlySoFar&) {}
  void operator()(const op::DeviceNode&) {}
  void operator()(const op::MountDevpts&) {}
  void operator()(const op::LoopbackUp&) {}
  void operator()(const op::PivotRoot&) {}
  void operator()(const op::LandlockAllow&) {}
  void operator()(const op::ReadOnlyRoot&) {}
  void operator()(const op::ResourceLimit&) {}
  void operator()(const op::NoNewPrivileges&) {}
  void operator()(const op::RestrictLandlock&) {}
  void operator()(const op::CloseDescriptors&) {}
  void operator()(const op::NewSession&) {}
  void operator()(const op::NewKeyring&) {}
  void operator()(const op::DropCapabilities&) {}
  void operator()(const op::InstallSeccomp&) {}
  void operator()(const op::ChangeDirectory&) {}
  void operator()(const op::Execute&) {}
  // Nobody answers; what asks for it is in the account.
  void operator()(const op::OpenResolver&) {}
  void operator()(const op::OfferSockets&) {}
  // Of no plan that is made for an engine.
  void operator()(const op::PrivateCopy&) {}
  void operator()(const op::StagedTree&) {}
  void operator()(const op::RunExecutor&) {}
  void operator()(const op::RunBundle&) {}
  void operator()(const op::ScopeProcesses&) {}
  void operator()(const op::LoadProfile&) {}

  EngineExport finish() {
    add({"masks", ArtefactEntry::Kind::Directory, {}, kPrivate});
    add({"masks/directory", ArtefactEntry::Kind::Directory, {}, 0555});
    add({"masks/file", ArtefactEntry::Kind::File, {}, 0});
    // That this file can be read before Landlock and not after it is how that one is measured.
    add({"plan", ArtefactEntry::Kind::File,
         whom_ == BundleFor::Run ? std::string("x") : inner_layers(plan_), 0600});
    for (const std::string_view kept : {"home", "caches"}) {
      if (kept == "home" ? effective_.home == HomeMode::Persistent : effective_.caches)
        add({std::string(kept), ArtefactEntry::Kind::Directory, {}, kPrivate});
    }
    std::ranges::for_each(ways_, [&](const std::string& way) { close_way(way); });
    directory(std::string(kOwnPlace), 0755);
    file(std::string(kProgramInside), {}, 0555);
    file(std::string(kPlanInside), {}, 0444);
    read_only(inside_, std::string(kProgramInside), FileKind::Regular);
    read_only("plan", std::string(kPlanInside), FileKind::Regular);
    EngineExport made;
    made.document = "config.json";
    entries_.push_back({made.document, ArtefactEntry::Kind::File,
                        write_json(config(), JsonStyle::Pretty) + "\n", 0600});
    made.entries = std::move(entries_);
    return made;
  }

  void account(LossReport& report) const;

 private:
  static std::string in_root(const std::string& path) { return std::string(kRootfs) + path; }
  void add(ArtefactEntry entry) {
    const auto same = [&](const ArtefactEntry& one) { return one.path == entry.path; };
    if (std::ranges::none_of(entries_, same)) entries_.push_back(std::move(entry));
  }
  void directory(const std::string& path, unsigned mode) {
    // A runtime gives a file system that it mounts there the mode of the directory.
    add({in_root(path), ArtefactEntry::Kind::Directory, {}, mode & 01777U});
  }
  void file(const std::string& path, std::string content, unsigned mode) {
    add({in_root(path), ArtefactEntry::Kind::File, std::move(content), mode});
  }
  // What lies in the bundle is named from there, so that the bundle can be moved.
  static std::string source(const std::string& path) {
    return contains(kInBundle, path) ? path.substr(kInBundle.size() + 1) : path;
  }
  // A directory with what is mounted below it. crun takes a file whose flags are those of
  // everything below for a directory, and does not start.
  void read_only(const std::string& source, const std::string& path, FileKind kind) {
    std::vector<std::string> options = {"rbind", "ro", "nosuid", "nodev"};
    if (kind == FileKind::Directory) options.insert(options.end(), {"rro", "rnosuid", "rnodev"});
    mounts_.push_back(mount_node(path, "bind", source, options));
  }
  // crun in a user namespace passes over flags that are not for everything below as well.
  void read_write(const std::string& source, const std::string& path, FileKind kind) {
    std::vector<std::string> options = {"rbind", "rw", "nosuid", "nodev"};
    if (kind == FileKind::Directory) options.insert(options.end(), {"rnosuid", "rnodev"});
    mounts_.push_back(mount_node(path, "bind", source, options));
  }
  // A file in a private place, which a runtime cannot make: read-only.
  void private_file(const std::string& path, const std::string& content, unsigned mode) {
    const std::string name = "files/" + std::to_string(files_++);
    add({"files", ArtefactEntry::Kind::Directory, {}, kPrivate});
    add({name, ArtefactEntry::Kind::File, content, mode});
    read_only(name, path, FileKind::Regular);
  }
  // A directory of the private home that leads to grants: read-only, with a place for each mount.
  void close_way(const std::string& way) {
    const auto destination = [](const Node& mount) { return *mount.find("destination")->text(); };
    const auto is_below = [&](const Node& mount) {
      return destination(mount) != way && contains(way, destination(mount));
    };
    const std::string place = "ways/" + std::to_string(closed_ways_++);
    add({"ways", ArtefactEntry::Kind::Directory, {}, kPrivate});
    add({place, ArtefactEntry::Kind::Directory, {}, 0755});
    std::string covered;
    for (const Node& mount : mounts_) {
      // What lies in a grant is there.
      if (!is_below(mount) || (!covered.empty() && contains(covered, destination(mount)))) continue;
      covered = destination(mount);
      const std::string shown = in_root(covered);
      const auto is_it = [&](const ArtefactEntry& one) { return one.path == shown; };
      const auto known = std::ranges::find_if(entries_, is_it);
      const auto kind = known == entries_.end() ? ArtefactEntry::Kind::Directory : known->kind;
      const std::string below = covered.substr(way.size());
      std::string made = place;
      for (const std::string_view part : components(parent(below))) {
        made = join(made, part);
        add({made, ArtefactEntry::Kind::Directory, {}, 0755});
      }
      add({place + below, kind, {}, 0755});
    }
    const auto first = std::ranges::find_if(mounts_, is_below);
    mounts_.insert(first, mount_node(way, "bind", place, {"rbind", "ro", "nosuid", "nodev"}));
  }
  [[nodiscard]] FileKind held_kind(const std::string& path) const {
    const auto is_it = [&](const Held& one) { return one.path == path; };
    const auto among = [&](const std::vector<Held>& list) {
      const auto found = std::ranges::find_if(list, is_it);
      return found == list.end() ? std::optional<FileKind>() : found->file;
    };
    if (const auto kind = among(request_.facts.held)) return *kind;
    for (const GitDirectory& git : request_.facts.git) {
      if (const auto kind = among(git.held)) return *kind;
      if (const auto kind = among(git.pinned)) return *kind;
    }
    return FileKind::Directory;
  }
  void devices() {
    directory("/dev", 0755);
    mounts_.push_back(mount_node("/dev", "tmpfs", "tmpfs", {"nosuid", "mode=0755", "size=65536"}));
    mounts_.push_back(
        mount_node("/dev/pts", "devpts", "devpts",
                   {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}));
  }
  // The one identity that every runtime can map: root of the container, which is the caller.
  [[nodiscard]] std::string passwd() const {
    const bool has_home = effective_.home != HomeMode::None && !request_.caller.home.empty();
    return "root:x:0:0:root:" + (has_home ? request_.caller.home : std::string("/")) +
           ":/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n";
  }
  static std::string group() { return "root:x:0:\nnogroup:x:65534:\n"; }

  [[nodiscard]] Node process() const {
    Node node;
    node.set("terminal", Node(false));
    node.set("user", Node().set("uid", Node(0)).set("gid", Node(0)));
    NodeList words;
    words.emplace_back(kProgramInside);
    NodeList variables;
    if (whom_ == BundleFor::Run) {
      // The command's variables come with the plan: nothing of them is on the disk.
      words.emplace_back(bundle::kRunInside);
    } else {
      words.emplace_back(native::kConfineInside);
      words.emplace_back(kPlanInside);
      for (const std::string& one : plan_.environment) variables.emplace_back(one);
    }
    node.set("args", std::move(words));
    node.set("env", std::move(variables));
    node.set("cwd", "/");
    Node none{NodeMap{}};
    for (const char* set : {"bounding", "effective", "inheritable", "permitted", "ambient"})
      none.set(set, NodeList{});
    node.set("capabilities", std::move(none));
    return node.set("noNewPrivileges", Node(true));
  }
  [[nodiscard]] static Node mapping(std::uint32_t outside) {
    return Node()
        .set("containerID", Node(0))
        .set("hostID", Node(std::uint64_t{outside}))
        .set("size", Node(1));
  }
  [[nodiscard]] std::optional<std::uint64_t> limit(std::string_view name) const {
    for (const PlannedLimit& one : plan_.limits)
      if (one.name == name) return one.value;
    return std::nullopt;
  }
  [[nodiscard]] Node resources() const {
    Node node{NodeMap{}};
    if (const auto memory = limit("memory")) {
      node.set("memory", Node().set("limit", Node(*memory)).set("swap", Node(*memory)));
    }
    if (const auto pids = limit("pids")) node.set("pids", Node().set("limit", Node(*pids)));
    if (const auto cpus = limit("cpus")) {
      node.set("cpu", Node()
                          .set("quota", Node(*cpus * kCpuPeriod / kThousandths))
                          .set("period", Node(kCpuPeriod)));
    }
    return node;
  }
  [[nodiscard]] bool is_rootless() const { return request_.caller.uid != 0; }
  [[nodiscard]] Node config() const {
    NodeList namespaces;
    for (const char* name : {"user", "mount", "pid", "ipc", "uts", "cgroup"})
      namespaces.push_back(Node().set("type", name));
    if (own_network_) namespaces.push_back(Node().set("type", "network"));
    NodeList masked;
    for (const std::string& path : masked_) masked.emplace_back(path);
    Node linux_part;
    linux_part.set("namespaces", std::move(namespaces));
    linux_part.set("uidMappings", NodeList{mapping(request_.caller.uid)});
    linux_part.set("gidMappings", NodeList{mapping(request_.caller.gid)});
    if (!is_rootless() && whom_ == BundleFor::Export) linux_part.set("resources", resources());
    // For the resolver of names, whose first process has no capability.
    if (own_network_ && whom_ == BundleFor::Run) {
      linux_part.set("sysctl", Node().set("net.ipv4.ip_unprivileged_port_start", "0"));
    }
    if (private_mounts_) linux_part.set("rootfsPropagation", "rprivate");
    linux_part.set("maskedPaths", std::move(masked));
    NodeList closed;
    for (const char* path : {"/proc/sys", "/proc/sysrq-trigger"}) closed.emplace_back(path);
    linux_part.set("readonlyPaths", std::move(closed));
    Node node;
    node.set("ociVersion", "1.0.2").set("hostname", host_name_);
    node.set("root", Node().set("path", kRootfs).set("readonly", Node(true)));
    node.set("process", process()).set("mounts", mounts_);
    return node.set("linux", std::move(linux_part));
  }

  const EngineRequest& request_;
  const Plan& plan_;
  const Effective& effective_;
  const std::string& inside_;
  BundleFor whom_;
  std::vector<ArtefactEntry> entries_{
      {std::string(kRootfs), ArtefactEntry::Kind::Directory, {}, 0755}};
  NodeList mounts_;
  std::vector<std::string> masked_;
  std::vector<std::string> ways_;
  std::map<std::string, std::string> private_places_;  // name -> path
  op::Scratch scratch_;
  std::string host_name_;
  std::size_t skeletons_ = 0;
  std::size_t files_ = 0;
  std::size_t closed_ways_ = 0;
  bool own_network_ = true;
  bool private_mounts_ = false;
  bool read_only_configs_ = false;
};

void OciBundle::account(LossReport& report) const {
  const auto shown = [](const std::vector<Grant>& grants) {
    return std::to_string(grants.size()) + (grants.size() == 1 ? " grant" : " grants");
  };
  report.carried("fs.read", shown(effective_.read) +
                                ", bound read-only; each is compared with "
                                "what was judged before the command starts");
  report.carried("fs.write", shown(effective_.write) + ", bound; each is compared as well");
  if (!effective_.deny.empty()) {
    report.weakened("fs.deny",
                    "masks lie on what is there now; a name that is made later is not "
                    "looked for");
  }
  if (!effective_.write.empty()) {
    report.weakened("protect",
                    "protected names that are there now are read-only; those that "
                    "appear are not moved away");
  }
  if (read_only_configs_) {
    report.weakened("git", "configurations of git are read-only, not private copies");
  }
  if (effective_.scratch) {
    report.weakened("fs.scratch", "the bound holds for each of " +
                                      std::to_string(private_places_.size()) +
                                      " places by itself, not for all together");
  }
  if (effective_.home == HomeMode::Persistent) {
    report.weakened("fs.home", "the home that is kept lies in the bundle, not in Cordon's state");
  } else if (effective_.home == HomeMode::Private) {
    report.carried("fs.home", "a tmpfs of its own");
  }
  if (effective_.caches) report.weakened("fs.caches", "the caches lie in the bundle");
  report.weakened("env", "values are those of now, and stand in config.json, mode 0600");
  account_bundle_network(effective_, report);
  account_bundle_limits(effective_, request_.caller, report);
  report.carried("layers.namespaces", "user, mount, pid, ipc, uts and cgroup of the runtime");
  const bool restricted = std::ranges::any_of(plan_.confine, [](const Op& operation) {
    return std::holds_alternative<op::RestrictLandlock>(operation);
  });
  if (restricted) report.carried("layers.landlock", "cordon-inside, before the command starts");
  report.carried("layers.seccomp", "the same filter as in a run, by cordon-inside");
  report.carried("layers.capabilities", "every set is empty");
  lose_what_needs_a_supervisor(effective_, report);
}

}  // namespace

Result<EngineExport> export_oci(const EngineRequest& request, const std::string& inside) {
  PlanRequest wanted{.argv = request.argv,
                     .cwd = request.cwd,
                     .persistent_home = std::string(kInBundle) + "/home",
                     .cache_directory = std::string(kInBundle) + "/caches"};
  CORDON_TRY(plan, plan_for_engine(request, wanted));
  const std::optional<std::uint64_t> pids = request.clamped.effective().limits.pids;
  if (request.caller.uid != 0 && pids) {
    plan.confine.insert(plan.confine.begin(), op::ResourceLimit{"nproc", *pids});
  }
  OciBundle bundle(request, plan, inside, BundleFor::Export);
  for (const Op& operation : plan.build) std::visit(bundle, operation);
  LossReport report(request.given_up);
  bundle.account(report);
  CORDON_TRY(account, report.settle(Engine::Oci));
  EngineExport made = bundle.finish();
  made.account = std::move(account);
  return made;
}

Result<Plan> plan_oci_run(const EngineRequest& request, const PlanRequest& wanted,
                          const std::string& inside, const InstalledRuntime& runtime) {
  CORDON_TRY(plan, make_native_plan(request.clamped, request.facts, request.caller, wanted));
  keep_configs_read_only(plan);
  plan.backend = BackendKind::Oci;
  // The runtime makes the root read-only.
  plan.seal.clear();
  for (Op& operation : plan.build) {
    // The one identity that every runtime can map.
    if (auto* map = std::get_if<op::MapIdentity>(&operation)) map->inside_uid = map->inside_gid = 0;
  }
  for (Op& operation : plan.confine) {
    // The runtime empties the bounding set, which nobody without a capability can; it is measured.
    if (auto* drop = std::get_if<op::DropCapabilities>(&operation)) drop->bounding = false;
  }
  OciBundle bundle(request, plan, inside, BundleFor::Run);
  for (const Op& operation : plan.build) std::visit(bundle, operation);
  const auto pivoted = std::ranges::find_if(plan.build, [](const Op& operation) {
    return std::holds_alternative<op::PivotRoot>(operation);
  });
  EngineExport made = bundle.finish();
  plan.build.insert(std::next(pivoted),
                    op::RunBundle{runtime.name, runtime.program, wanted.private_directory,
                                  std::move(made.entries)});
  return plan;
}

}  // namespace cordon
