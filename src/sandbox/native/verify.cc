#include "sandbox/native/verify.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <type_traits>
#include <variant>

#include "plan/limits.h"
#include "sys/calls.h"

namespace cordon::native {
namespace {

constexpr std::size_t kNetNamespace = 3;
constexpr int kFilterMode = 2;

template <typename T>
const T* find(const std::vector<Op>& operations) {
  for (const Op& operation : operations) {
    if (const T* found = std::get_if<T>(&operation)) return found;
  }
  return nullptr;
}

// A runtime makes the root of a bundle, which is a directory on disk.
bool is_bundled(const Plan& plan) { return find<op::RunBundle>(plan.build) != nullptr; }

bool namespaces_as_planned(const Measured& measured, const NamespaceIds& outside,
                           bool own_network) {
  for (std::size_t i = 0; i < outside.size(); ++i) {
    const bool separate = measured.namespaces[i] != 0 && measured.namespaces[i] != outside[i];
    const bool wanted = i != kNetNamespace || own_network;
    if (separate != wanted) return false;
  }
  return true;
}

bool landlock_in_force(const Measured& measured, int abi) {
  // The probe file could be read before the restriction and cannot after it: nothing else changed.
  const bool files = measured.landlock_read_before == 0 && measured.landlock_read == EACCES;
  const bool scopes = abi < kAbiWithScopes || measured.landlock_signal == EPERM;
  return files && scopes;
}

Error not_in_force(const std::string& layer) {
  return setup_error("layer " + layer + " is not in force inside the sandbox", 0,
                     "the command was not started; cordon doctor shows what this host enforces");
}

}  // namespace

Result<Enforcement> verify(const Plan& plan, const Measured& measured,
                           const NamespaceIds& outside_namespaces) {
  const auto* namespaces = find<op::EnterNamespaces>(plan.build);
  const auto* landlock = find<op::RestrictLandlock>(plan.confine);
  const auto* seccomp = find<op::InstallSeccomp>(plan.confine);
  Enforcement found;
  found.backend = name_of(plan.backend);
  found.namespaces = namespaces_as_planned(measured, outside_namespaces, namespaces->own_network);
  const bool own_root = is_bundled(plan) || measured.root_type == sys::kTmpfsMagic;
  found.pivot_root = own_root && measured.root_read_only == 1;
  found.bind_mounts = measured.mounts_checked > 0 && measured.wrong_mount < 0;
  found.landlock = landlock != nullptr && landlock_in_force(measured, landlock->abi);
  found.landlock_abi = found.landlock ? landlock->abi : 0;
  found.seccomp = measured.seccomp_mode == kFilterMode && measured.seccomp_filters != 0;
  found.cap_drop = std::ranges::all_of(measured.capabilities, [](auto set) { return set == 0; });
  found.no_new_privs = measured.no_new_privileges == 1;
  found.network = name_of(seccomp->net);
  for (const PlannedLimit& limit : plan.limits) found.limits[limit.name] = name_of(limit.by);
  for (const Layer layer : plan.missing) found.missing.emplace_back(name_of(layer));
  found.lost = plan.lost;
  if (measured.inotify_bound == 0) found.lost.push_back(Loss::Inotify);

  if (!found.namespaces) return fail(not_in_force("namespaces"));
  if (!found.pivot_root) return fail(not_in_force("new root"));
  if (!found.bind_mounts) {
    Error error = not_in_force("mounts");
    if (measured.wrong_mount >= 0) {
      error.operation = describe(plan.build[static_cast<std::size_t>(measured.wrong_mount)]);
    }
    return fail(std::move(error));
  }
  if (landlock != nullptr && !found.landlock) return fail(not_in_force("landlock"));
  if (!found.seccomp) return fail(not_in_force("seccomp"));
  if (!found.cap_drop) return fail(not_in_force("capabilities"));
  if (!found.no_new_privs) return fail(not_in_force("no_new_privs"));
  return found;
}

Result<void> verify_begun(const Plan& plan, const Measured& measured,
                          const NamespaceIds& outside_namespaces) {
  const auto* namespaces = find<op::EnterNamespaces>(plan.build);
  // Ids that could not be read outside would differ from all others.
  const bool known = std::ranges::all_of(outside_namespaces, [](auto id) { return id != 0; });
  if (namespaces == nullptr || !known ||
      !namespaces_as_planned(measured, outside_namespaces, namespaces->own_network)) {
    return fail(not_in_force("namespaces"));
  }
  if (!is_bundled(plan) && measured.root_type != sys::kTmpfsMagic) {
    return fail(not_in_force("new root"));
  }
  return {};
}

namespace {

// True if the mount of one operation is as planned. Read back while the command's process, which
// shares errno, confines itself: nothing here sets it.
class CheckMount {
 public:
  explicit CheckMount(std::uint64_t root_system) : root_system_(root_system) {}

  bool operator()(const op::Bind& o) const {
    sys::MountStatus mount{};
    if (!state(o.path, o.access, mount)) return false;
    // Not the empty mount point that was made for it.
    if (o.id == FileId{}) return mount.system != root_system_ || o.access == MountAccess::ReadWrite;
    sys::FileStatus status{};
    return sys::status_at(o.path.c_str(), status) == 0 && status.device == o.id.device &&
           status.inode == o.id.inode;
  }
  bool operator()(const op::BindSystem& o) const {
    sys::MountStatus mount{};
    // Not the empty mount point that was made for it.
    return state(o.path, MountAccess::ReadOnly, mount) && mount.system != root_system_;
  }
  bool operator()(const op::Hold& o) const {
    // Bound only so that it stays where it is; a symlink may be.
    if (o.access == MountAccess::ReadWrite) return sys::is_mount_root(o.path.c_str());
    sys::MountStatus mount{};
    return state(o.path, o.access, mount);
  }
  bool operator()(const op::PrivateCopy& o) const {
    sys::MountStatus mount{};
    sys::FileStatus file{};
    if (!sys::is_mount_root(o.path.c_str()) || !state(o.path, MountAccess::ReadWrite, mount)) {
      return false;
    }
    // Not the object itself, which could be written then.
    return sys::status_at(o.path.c_str(), file) == 0 &&
           (file.device != o.id.device || file.inode != o.id.inode);
  }
  bool operator()(const op::StagedTree& o) const {
    sys::MountStatus mount{};
    sys::FileStatus file{};
    if (!sys::is_mount_root(o.path.c_str()) || !state(o.path, MountAccess::ReadWrite, mount)) {
      return false;
    }
    // Not the host's directory, which would be written then.
    if (sys::status_at(o.path.c_str(), file) != 0) return false;
    if (o.work.empty()) return file.device != o.id.device || file.inode != o.id.inode;
    return mount.type == sys::kOverlayMagic && file.device != o.id.device;
  }
  bool operator()(const op::ReadOnlyWay& o) const {
    sys::MountStatus mount{};
    return state(o.path, MountAccess::ReadOnly, mount);
  }
  bool operator()(const op::Mask& o) const { return masked(o.path, o.kind); }
  bool operator()(const op::Skeleton& o) const {
    sys::MountStatus mount{};
    return state(o.path, MountAccess::ReadOnly, mount) && mount.type == sys::kTmpfsMagic &&
           sys::is_mount_root(o.path.c_str());
  }
  bool operator()(const op::MaskProc& o) const {
    sys::MountStatus mount{};
    const int error = sys::mount_status(o.path.c_str(), mount);
    return error == -ENOENT || (error == 0 && mount.system == root_system_ && mount.read_only);
  }
  bool operator()(const op::ScratchDirectory& o) const {
    sys::MountStatus status{};
    return sys::mount_status(o.path.c_str(), status) == 0 && status.type == sys::kTmpfsMagic &&
           !status.read_only;
  }
  bool operator()(const op::MountProc&) const {
    sys::MountStatus status{};
    return sys::mount_status("/proc", status) == 0 && status.type == sys::kProcMagic &&
           status.read_only;
  }
  bool operator()(const op::PrivateConfig& o) const {
    sys::FileStatus file{};
    if (sys::link_status_at(o.path.c_str(), file) < 0) return false;
    sys::MountStatus mount{};
    return S_ISLNK(file.mode) || state(o.path, MountAccess::ReadOnly, mount);
  }
  template <typename Other>
  bool operator()(const Other&) const {
    return true;
  }

 protected:
  // The mount says what it is, and an attempt to write agrees.
  static bool state(const std::string& path, MountAccess access, sys::MountStatus& status) {
    if (sys::mount_status(path.c_str(), status) < 0) return false;
    if (access == MountAccess::ReadWrite) return !status.read_only;
    if (!status.read_only) return false;
    sys::FileStatus file{};
    if (sys::status_at(path.c_str(), file) < 0) return false;
    // Writing into a FIFO, a socket or a device is not writing to its file system: the kernel
    // allows it on a read-only mount, and only the flag tells.
    const bool stored = S_ISREG(file.mode) || S_ISDIR(file.mode);
    return !stored || !sys::may_write(path.c_str());
  }

 private:
  static bool masked(const std::string& path, FileKind kind) {
    sys::MountStatus status{};
    if (sys::mount_status(path.c_str(), status) < 0) return false;
    if (status.type != sys::kTmpfsMagic || !status.read_only) return false;
    if (kind == FileKind::Directory) return true;
    sys::FileStatus file{};
    return sys::status_at(path.c_str(), file) == 0 && (file.mode & 07777U) == 0;
  }

  std::uint64_t root_system_;
};

// The same where a runtime made the mounts of a bundle. All of them are mounts of their own there:
// what lies below the root, or in a grant, is on a file system that others of them may be on.
class CheckBundleMount : public CheckMount {
 public:
  using CheckMount::CheckMount;
  using CheckMount::operator();

  bool operator()(const op::Bind& o) const { return own(o.path, o.access, o.id); }
  bool operator()(const op::BindSystem& o) const {
    return own(o.path, MountAccess::ReadOnly, FileId{});
  }
  bool operator()(const op::Hold& o) const { return own(o.path, o.access, o.id); }
  bool operator()(const op::PrivateConfig& o) const {
    return own(o.path, MountAccess::ReadOnly, o.id);
  }
  bool operator()(const op::Mask& o) const {
    sys::FileStatus file{};
    if (!own(o.path, MountAccess::ReadOnly, FileId{})) return false;
    if (sys::status_at(o.path.c_str(), file) != 0 || is_object(file, o.id)) return false;
    return o.kind == FileKind::Directory || (file.mode & 07777U) == 0;
  }
  bool operator()(const op::Skeleton& o) const {
    return own(o.path, MountAccess::ReadOnly, FileId{});
  }
  bool operator()(const op::MaskProc& o) const {
    sys::MountStatus mount{};
    return sys::mount_status(o.path.c_str(), mount) == -ENOENT ||
           sys::is_mount_root(o.path.c_str());
  }
  bool operator()(const op::MountProc&) const {
    sys::MountStatus mount{};
    return sys::mount_status("/proc", mount) == 0 && mount.type == sys::kProcMagic;
  }
  bool operator()(const op::ReadOnlyWay& o) const {
    return own(o.path, MountAccess::ReadOnly, FileId{});
  }

 private:
  static bool is_object(const sys::FileStatus& file, const FileId& id) {
    return file.device == id.device && file.inode == id.inode;
  }
  static bool own(const std::string& path, MountAccess access, const FileId& id) {
    sys::MountStatus mount{};
    sys::FileStatus file{};
    if (!sys::is_mount_root(path.c_str()) || !state(path, access, mount)) return false;
    return id == FileId{} || (sys::status_at(path.c_str(), file) == 0 && is_object(file, id));
  }
};

template <typename T>
constexpr bool is_mount =
    std::is_same_v<T, op::BindSystem> || std::is_same_v<T, op::Bind> ||
    std::is_same_v<T, op::Hold> || std::is_same_v<T, op::PrivateCopy> ||
    std::is_same_v<T, op::StagedTree> || std::is_same_v<T, op::ReadOnlyWay> ||
    std::is_same_v<T, op::Mask> || std::is_same_v<T, op::Skeleton> ||
    std::is_same_v<T, op::MaskProc> || std::is_same_v<T, op::ScratchDirectory> ||
    std::is_same_v<T, op::MountProc> || std::is_same_v<T, op::PrivateConfig>;

}  // namespace

void measure_mounts(const Plan& plan, Measured& measured) {
  sys::MountStatus root{};
  if (sys::mount_status("/", root) < 0) return;
  const CheckMount check(root.system);
  const CheckBundleMount check_bundle(root.system);
  const bool bundled = is_bundled(plan);
  std::int32_t index = 0;
  for (const Op& operation : plan.build) {
    const bool mounts = std::visit(
        [](const auto& o) { return is_mount<std::remove_cvref_t<decltype(o)>>; }, operation);
    if (mounts) {
      ++measured.mounts_checked;
      const bool as_planned =
          bundled ? std::visit(check_bundle, operation) : std::visit(check, operation);
      if (!as_planned && measured.wrong_mount < 0) measured.wrong_mount = index;
    }
    ++index;
  }
}

}  // namespace cordon::native
