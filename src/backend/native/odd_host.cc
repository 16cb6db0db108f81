#include "backend/native/odd_host.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <variant>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "plan/landlock_abi.h"
#include "sys/landlock.h"

namespace cordon::native {
namespace {

// Where systemd mounts it the kernel keeps the directory permanently empty, so it hides nothing.
constexpr std::string_view kHarmlessBelowProc = "/proc/sys/fs/binfmt_misc";

struct Mount {
  std::string_view point;
  std::string_view type;
};

// One line of mountinfo: `ID PARENT DEVICE ROOT POINT OPTIONS [TAG]... - TYPE SOURCE OPTIONS`.
Mount parse_mount(std::string_view line) {
  constexpr std::size_t kPoint = 4;
  const std::vector<std::string_view> fields = split(line, ' ');
  const auto dash = std::ranges::find(fields, "-");
  if (fields.size() <= kPoint || dash == fields.end() || std::next(dash) == fields.end()) return {};
  return {fields[kPoint], *std::next(dash)};
}

struct KnownDevice {
  std::string_view path;
  std::string_view numbers;  // as mknod takes them
};
constexpr std::array<KnownDevice, 6> kDeviceNumbers = {{{"/dev/null", "1 3"},
                                                        {"/dev/zero", "1 5"},
                                                        {"/dev/full", "1 7"},
                                                        {"/dev/random", "1 8"},
                                                        {"/dev/urandom", "1 9"},
                                                        {"/dev/tty", "5 0"}}};

std::string make_device(const std::string& path) {
  for (const KnownDevice& device : kDeviceNumbers) {
    if (device.path != path) continue;
    return "as root: rm -f " + path + " && mknod -m 666 " + path + " c " +
           std::string(device.numbers);
  }
  return "as root, make it a device again";
}

// The device that an operation gives to the command; null if it is about something else.
const std::string* device_of(const Op& operation) {
  if (const auto* node = std::get_if<op::DeviceNode>(&operation)) return &node->path;
  const auto* rule = std::get_if<op::LandlockAllow>(&operation);
  const bool device =
      rule != nullptr && rule->use == LandlockUse::Device && rule->kind != FileKind::Directory;
  return device ? &rule->path : nullptr;
}

bool needs_descriptor(const Op& operation) {
  if (const auto* bind = std::get_if<op::Bind>(&operation)) return bind->id != FileId{};
  const auto* rule = std::get_if<op::LandlockAllow>(&operation);
  return rule != nullptr && rule->id != FileId{};
}

void say(Error& error, std::string what, std::string hint) {
  error.kind = ErrorKind::Unavailable;
  error.what = std::move(what);
  error.hint = std::move(hint);
}

// What else can be done where a namespace is refused. On an older kernel that backend refuses as
// well, and without the acceptance it always does.
std::string or_landlock() {
  if (sys::landlock_abi() < kAbiWithScopes) return {};
  return "; or go without namespaces: --backend landlock, and [require] accept_missing = "
         "[\"namespaces\"] in a ceiling";
}

void name_proc(Error& error) {
  std::string places;
  for (const std::string& place : mounts_over_proc(read_mountinfo())) {
    places.append(places.empty() ? "" : ", ").append(place);
  }
  if (places.empty()) {
    say(error, "this host does not let a sandbox have a /proc of its own",
        "mount a whole /proc before cordon is started" + or_landlock());
    return;
  }
  say(error,
      "a fresh /proc cannot be mounted, because something covers parts of this one: " + places,
      "in a container: --security-opt systempaths=unconfined (Docker), --security-opt unmask=ALL "
      "(Podman), procMount: Unmasked (Kubernetes); elsewhere unmount what covers them" +
          or_landlock());
}

}  // namespace

std::string read_mountinfo() {
  const Fd file(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 16384> buffer{};
  while (file.valid()) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::string initramfs_cure() {
  return "let /init copy the initramfs to a tmpfs and switch_root to that" + or_landlock();
}

bool root_is_initramfs(std::string_view mountinfo) {
  bool found = false;
  for (const std::string_view line : split(mountinfo, '\n')) {
    const Mount mount = parse_mount(line);
    // What is mounted last at a place is what is seen there.
    if (mount.point == "/") found = mount.type == "rootfs";
  }
  return found;
}

std::vector<std::string> mounts_over_proc(std::string_view mountinfo) {
  std::vector<std::string> found;
  for (const std::string_view line : split(mountinfo, '\n')) {
    const std::string_view point = parse_mount(line).point;
    if (!point.starts_with("/proc/") || contains(kHarmlessBelowProc, point)) continue;
    if (std::ranges::find(found, point) == found.end()) found.emplace_back(point);
  }
  return found;
}

std::string noexec_mount(const std::string& path, std::string_view mountinfo) {
  struct statvfs status {};
  if (::statvfs(path.c_str(), &status) < 0 || (status.f_flag & ST_NOEXEC) == 0) return {};
  std::string_view deepest = "/";
  for (const std::string_view line : split(mountinfo, '\n')) {
    const std::string_view point = parse_mount(line).point;
    if (!point.empty() && contains(point, path) && point.size() >= deepest.size()) deepest = point;
  }
  return std::string(deepest);
}

Result<void> check_host(const Plan& plan) {
  CORDON_CHECK(check_devices(plan));
  CORDON_CHECK(check_writable(plan));
  return check_open_files(plan);
}

Result<void> check_devices(const Plan& plan) {
  for (const Op& operation : plan.build) {
    const std::string* path = device_of(operation);
    if (path == nullptr) continue;
    struct stat status {};
    const bool there = ::stat(path->c_str(), &status) == 0;
    const auto* rule = std::get_if<op::LandlockAllow>(&operation);
    if (there ? S_ISCHR(status.st_mode) : rule != nullptr && rule->optional) continue;
    Error error =
        setup_error(there ? *path + " of this host is not a device" : "this host has no " + *path,
                    0, make_device(*path));
    if (there && S_ISREG(status.st_mode)) error.what += " but a regular file";
    error.kind = ErrorKind::Unavailable;
    error.operation = describe(operation);
    return fail(std::move(error));
  }
  return {};
}

Result<void> check_writable(const Plan& plan) {
  for (const Op& operation : plan.build) {
    const auto* bind = std::get_if<op::Bind>(&operation);
    if (bind == nullptr || bind->access == MountAccess::ReadOnly) continue;
    struct statvfs status {};
    if (::statvfs(bind->source.c_str(), &status) < 0 || (status.f_flag & ST_RDONLY) == 0) continue;
    Error error = setup_error(quote(bind->source) +
                                  " cannot be written: its file system is mounted "
                                  "read-only",
                              0,
                              "grant it for reading (--policy readonly, or --read in place of "
                              "--write), or remount it");
    error.operation = describe(operation);
    return fail(std::move(error));
  }
  return {};
}

Result<void> check_open_files(const Plan& plan) {
  // Streams, channels, pipes, the audit log, the run's note, the broker, and those that a directory
  // is walked with.
  constexpr rlim_t kBeside = 96;
  const auto pins = static_cast<rlim_t>(std::ranges::count_if(plan.build, needs_descriptor));
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= kBeside + pins) return {};
  const std::string needed = std::to_string(kBeside + pins);
  const bool may_raise = limit.rlim_max >= kBeside + pins;
  return fail(setup_error(
      "too few files may be open: ulimit -n is " + std::to_string(limit.rlim_cur) + ", and " +
          needed + " are needed",
      0,
      may_raise ? "ulimit -Sn " + needed + " in the shell that starts cordon"
                : "the hard limit is lower too: start from a shell in which nobody lowered it, or "
                  "have it raised (LimitNOFILE=, /etc/security/limits.conf)"));
}

void name_cause(const Op& operation, Error& error) {
  if (std::holds_alternative<op::PivotRoot>(operation) && error.error_number == EINVAL &&
      root_is_initramfs(read_mountinfo())) {
    say(error, "the root of this host is its initramfs, which the kernel never exchanges",
        initramfs_cure());
  }
  if (std::holds_alternative<op::MountProc>(operation) && error.error_number == EPERM) {
    name_proc(error);
  }
}

}  // namespace cordon::native
