#include "compat/mxc/executor/measure.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <variant>

#include "base/fd.h"
#include "base/text.h"
#include "host/inspect.h"
#include "plan/limits.h"
#include "sandbox/native/process_status.h"
#include "sys/calls.h"

namespace cordon::mxc {
namespace {

constexpr std::array<const char*, 7> kNamespaces = {"user", "mnt", "pid",   "net",
                                                    "ipc",  "uts", "cgroup"};
constexpr std::size_t kNet = 3;
constexpr std::size_t kCgroup = 6;
constexpr int kFilterMode = 2;
constexpr std::size_t kProcFile = std::size_t{1} << 20;

std::string proc(pid_t process, std::string_view name) {
  return "/proc/" + std::to_string(process) + "/" + std::string(name);
}

Error not_in_force(const std::string& layer) {
  return setup_error("layer " + layer + " is not in force inside the sandbox", 0,
                     "the command was not started; the executor did not do what it was told");
}

bool namespaces_as_planned(const native::NamespaceIds& inside, pid_t init, bool own_network) {
  const native::NamespaceIds outside = native::own_namespaces();
  for (std::size_t i = 0; i < inside.size(); ++i) {
    const bool separate = inside[i] != 0 && outside[i] != 0 && inside[i] != outside[i];
    const bool wanted = i != kNet || own_network;
    if (separate != wanted) return false;
  }
  // The init has its own, and the executor's are others; it knows none for cgroups.
  const native::NamespaceIds kept = namespaces_of(init);
  for (std::size_t i = 0; i < inside.size(); ++i) {
    if (i == kCgroup || (i == kNet && !own_network)) continue;
    if (kept[i] == 0 || inside[i] == kept[i]) return false;
  }
  return true;
}

// Two lines of titles, then one for each interface.
bool has_loopback_only(pid_t command) {
  const Fd file(::open(proc(command, "net/dev").c_str(), O_RDONLY | O_CLOEXEC));
  const auto text = file.valid() ? read_all(file.get(), kProcFile) : std::nullopt;
  if (!text) return false;
  const std::vector<std::string_view> lines = split(*text, '\n');
  std::size_t others = 0;
  for (std::size_t i = 2; i < lines.size(); ++i) {
    const std::size_t name = lines[i].find_first_not_of(' ');
    if (name != std::string_view::npos && !lines[i].substr(name).starts_with("lo:")) ++others;
  }
  return lines.size() > 2 && others == 0;
}

// One object of the view, through the root of the process that waits in it. What is judged is the
// object and its mount, so that a name that leads elsewhere by now is a difference.
class CheckView {
 public:
  CheckView(pid_t command, pid_t init) : root_(proc(command, "root")), kept_(proc(init, "root")) {}

  bool operator()(const op::Bind& o) const { return shown(o.path, o.access, o.id); }
  bool operator()(const op::BindSystem& o) const {
    return shown(o.path, MountAccess::ReadOnly, FileId{});
  }
  bool operator()(const op::Hold& o) const {
    if (o.access == MountAccess::ReadOnly) return shown(o.path, o.access, o.id);
    const std::string path = root_ + o.path;
    if (!sys::is_mount_root(path.c_str())) return false;
    // A link is bound only so that it stays where it is, and leads somewhere else from out here.
    const auto seen = inspect_name(AT_FDCWD, path);
    return seen && seen->symlink ? seen->id == o.id : shown(o.path, o.access, o.id);
  }
  bool operator()(const op::Mask& o) const {
    const std::string path = root_ + o.path;
    sys::MountStatus mount{};
    if (sys::mount_status(path.c_str(), mount) < 0 || mount.type != sys::kTmpfsMagic ||
        !mount.read_only) {
      return false;
    }
    if (o.kind == FileKind::Directory) return is_empty(path);
    sys::FileStatus file{};
    return sys::status_at(path.c_str(), file) == 0 && (file.mode & 07777U) == 0;
  }
  bool operator()(const op::Skeleton& o) const {
    return shown(o.path, MountAccess::ReadOnly, FileId{});
  }
  bool operator()(const op::ScratchDirectory& o) const {
    return shown(o.path, MountAccess::ReadWrite, FileId{});
  }
  template <typename Other>
  bool operator()(const Other&) const {
    return true;
  }

 private:
  [[nodiscard]] bool shown(const std::string& inside, MountAccess access, const FileId& id) const {
    const std::string path = root_ + inside;
    sys::FileStatus file{};
    sys::MountStatus mount{};
    if (sys::status_at(path.c_str(), file) < 0 || sys::mount_status(path.c_str(), mount) < 0) {
      return false;
    }
    // What was not judged by its identity is what the init has under that name.
    sys::FileStatus kept{id.device, id.inode, 0};
    if (id == FileId{} && sys::status_at((kept_ + inside).c_str(), kept) < 0) return false;
    if (file.device != kept.device || file.inode != kept.inode) return false;
    if (access == MountAccess::ReadWrite) return !mount.read_only;
    const bool stored = S_ISREG(file.mode) || S_ISDIR(file.mode);
    return mount.read_only && (!stored || ::access(path.c_str(), W_OK) < 0);
  }

  static bool is_empty(const std::string& path) {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
    if (!directory) return false;
    while (const dirent* entry = ::readdir(directory.get())) {
      const std::string_view name(entry->d_name);
      if (name != "." && name != "..") return false;
    }
    return true;
  }

  std::string root_;
  std::string kept_;
};

Result<void> check_view(const Plan& plan, pid_t command, pid_t init) {
  const CheckView check(command, init);
  for (const Op& operation : plan.build) {
    if (std::visit(check, operation)) continue;
    Error error = not_in_force("mounts");
    error.operation = describe(operation);
    return fail(std::move(error));
  }
  return {};
}

bool has_own_root(pid_t command) {
  sys::MountStatus inside{};
  sys::MountStatus outside{};
  return sys::mount_status(proc(command, "root/").c_str(), inside) == 0 &&
         sys::mount_status("/", outside) == 0 && inside.type == sys::kTmpfsMagic &&
         inside.system != outside.system;
}

template <typename T>
const T& find(const std::vector<Op>& operations) {
  return std::get<T>(*std::ranges::find_if(
      operations, [](const Op& operation) { return std::holds_alternative<T>(operation); }));
}

}  // namespace

native::NamespaceIds namespaces_of(pid_t process) {
  native::NamespaceIds found{};
  for (std::size_t i = 0; i < found.size(); ++i) {
    struct stat status {};
    const std::string path = proc(process, "ns/") + kNamespaces[i];
    if (::stat(path.c_str(), &status) == 0) found[i] = status.st_ino;
  }
  return found;
}

Result<Enforcement> measure(const Plan& plan, pid_t command, pid_t init,
                            const native::CommandReport& report) {
  const auto& namespaces = find<op::EnterNamespaces>(plan.build);
  const auto& landlock = find<op::RestrictLandlock>(plan.confine);
  const auto& filter = find<op::InstallSeccomp>(plan.confine);
  native::Measured measured;
  native::measure_process(command, measured);

  if (!namespaces_as_planned(namespaces_of(command), init, namespaces.own_network)) {
    return fail(not_in_force("namespaces"));
  }
  if (namespaces.own_network && !has_loopback_only(command)) return fail(not_in_force("network"));
  if (!has_own_root(command)) return fail(not_in_force("new root"));
  CORDON_CHECK(check_view(plan, command, init));
  const bool files = report.landlock_read_before == 0 && report.landlock_read == EACCES;
  const bool scopes = landlock.abi < kAbiWithScopes || report.landlock_signal == EPERM;
  if (!files || !scopes) return fail(not_in_force("landlock"));
  if (measured.seccomp_mode != kFilterMode || measured.seccomp_filters == 0) {
    return fail(not_in_force("seccomp"));
  }
  if (!std::ranges::all_of(measured.capabilities, [](auto set) { return set == 0; })) {
    return fail(not_in_force("capabilities"));
  }
  if (measured.no_new_privileges != 1) return fail(not_in_force("no_new_privs"));

  Enforcement found;
  found.backend = name_of(plan.backend);
  found.namespaces = true;
  found.pivot_root = true;
  found.bind_mounts = true;
  found.landlock = true;
  found.landlock_abi = landlock.abi;
  found.seccomp = true;
  found.cap_drop = true;
  found.no_new_privs = true;
  found.network = name_of(filter.net);
  for (const PlannedLimit& limit : plan.limits) found.limits[limit.name] = name_of(limit.by);
  for (const Layer layer : plan.missing) found.missing.emplace_back(name_of(layer));
  found.lost = plan.lost;
  return found;
}

void signal_namespace(std::uint64_t pid_namespace, int number) {
  const std::unique_ptr<DIR, int (*)(DIR*)> processes(::opendir("/proc"), ::closedir);
  if (!processes) return;
  while (const dirent* entry = ::readdir(processes.get())) {
    const auto pid = parse_number(entry->d_name);
    if (!pid) continue;
    const auto process = static_cast<pid_t>(*pid);
    // Held before it is looked at, so that the number cannot be given to another meanwhile.
    const Fd held(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    struct stat status {};
    if (!held.valid() || ::stat(proc(process, "ns/pid").c_str(), &status) < 0) continue;
    if (status.st_ino == pid_namespace) sys::pidfd_send_signal(held.get(), number);
  }
}

}  // namespace cordon::mxc
