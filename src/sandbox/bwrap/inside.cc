#include "sandbox/bwrap/inside.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <variant>

#include "host/inspect.h"
#include "sandbox/bwrap/arguments.h"
#include "sandbox/bwrap/encoded_plan.h"
#include "sandbox/native/build.h"
#include "sandbox/native/process_status.h"
#include "sandbox/native/sandbox_init.h"
#include "sandbox/native/verify.h"
#include "sys/calls.h"
#include "sys/sockets.h"

namespace cordon::bwrap {
namespace {

constexpr int kRefused = 125;
constexpr std::size_t kMostHanded = std::size_t{64} << 20;

int answer(long result) { return result < 0 ? -errno : 0; }

// Finishes what bubblewrap began. The working directory is the new root, as native's code wants it.
class Finish {
 public:
  Finish(const Op& operation, const native::Prepared& prepared, native::BuildState& state)
      : operation_(operation), prepared_(prepared), state_(state) {}

  // Seen before anything was done.
  int operator()(const op::EnterNamespaces&) const { return 0; }
  int operator()(const op::MapIdentity& o) const {
    return ::getuid() == o.inside_uid && ::getgid() == o.inside_gid ? 0 : -EPERM;
  }
  int operator()(const op::NewRoot&) const {
    if (::chdir("/") < 0) return -errno;
    const Fd probe(::open(native::kLandlockProbe, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
    if (!probe.valid()) return -errno;
    return answer(::write(probe.get(), "x", 1));
  }
  int operator()(const op::MakeFile& o) const {
    // An empty file of the system is a mount point, and bubblewrap makes its own.
    const bool made = !state_.system_bound && o.content.empty();
    return made ? 0 : as_native();
  }
  int operator()(const op::MakeSymlink&) const { return state_.system_bound ? as_native() : 0; }
  int operator()(const op::BindSystem&) const { return 0; }
  int operator()(const op::MountProc&) const {
    // Bubblewrap's can be written to and hides nothing. It is only put aside: the kernel gives a
    // new one to nobody who does not see a whole one.
    const std::string aside = std::string(kBrought) + "/proc";
    if (::mkdir(aside.c_str(), 0700) < 0) return -errno;
    if (::mount("/proc", aside.c_str(), nullptr, MS_MOVE, nullptr) < 0) return -errno;
    return as_native();
  }
  int operator()(const op::MaskProc& o) const {
    if (const int error = as_native(); error < 0) return error;
    const int error = sys::make_read_only(o.path.c_str());
    return error == -ENOENT ? 0 : error;  // this kernel does not have the entry
  }
  int operator()(const op::ReadOnlySoFar&) const {
    state_.system_bound = true;
    return 0;
  }
  // The object is compared with the one that was judged once more: by bubblewrap when it was
  // brought, and here.
  int operator()(const op::Bind& o) const {
    op::Bind brought = o;
    brought.source = brought_path(state_.brought++);
    return native::carry_out(brought, prepared_, state_);
  }
  int operator()(const op::DeviceNode& o) const {
    const std::string source = brought_path(state_.brought++);
    return answer(::mount(source.c_str(), o.path.c_str(), nullptr, MS_BIND, nullptr));
  }
  int operator()(const op::HostName&) const { return 0; }
  int operator()(const op::LoopbackUp&) const { return 0; }
  int operator()(const op::PivotRoot&) const {
    const std::string brought(kBrought);
    if (::umount2(brought.c_str(), MNT_DETACH) < 0) return -errno;
    if (::rmdir(brought.c_str()) < 0) return -errno;
    return native::remove_building_names(state_);
  }
  template <typename Other>
  int operator()(const Other&) const {
    return as_native();
  }

 private:
  [[nodiscard]] int as_native() const { return native::carry_out(operation_, prepared_, state_); }

  const Op& operation_;
  const native::Prepared& prepared_;
  native::BuildState& state_;
};

int finish(const Op& operation, const native::Prepared& prepared, native::BuildState& state) {
  return std::visit(Finish(operation, prepared, state), operation);
}

// Tells the supervisor where this process is, and gives it a hold of it.
bool say_begun(int channel, const native::Measured& measured) {
  native::Message message;
  message.kind = native::Message::Kind::Begun;
  message.measured = measured;
  const Fd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  if (!self.valid()) return false;
  const int passed = self.get();
  return sys::send_passing(channel, &message, sizeof message, {&passed, 1}) ==
         static_cast<ssize_t>(sizeof message);
}

native::Measured measure_here() {
  native::Measured measured;
  measured.namespaces = native::own_namespaces();
  // Outside of a new pid namespace nothing else may be believed.
  if (::getpid() != 1) measured.namespaces = {};
  sys::MountStatus root{};
  if (sys::mount_status("/", root) == 0) measured.root_type = root.type;
  return measured;
}

}  // namespace

int begin_inside(int handed) { return begin_by(handed, finish, native::kLandlockProbe); }

int begin_by(int handed, native::Builder builder, const char* landlock_probe) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  const std::optional<std::string> text = read_all(handed, kMostHanded);
  const std::optional<EncodedPlan> encoded_plan = text ? decode(*text) : std::nullopt;
  if (!encoded_plan) return kRefused;
  const native::Measured measured = measure_here();
  if (!say_begun(encoded_plan->fds.channel, measured)) return kRefused;
  // Anywhere else the mounts that follow would be the host's own.
  if (!native::verify_begun(encoded_plan->plan, measured, encoded_plan->outside)) return kRefused;

  // Whatever the other program has made of it.
  ::umask(static_cast<mode_t>(encoded_plan->mask));
  native::Prepared prepared = native::prepare(encoded_plan->plan, ::geteuid());
  prepared.map_by = native::MapBy::FirstProcess;
  prepared.terminal = encoded_plan->terminal;
  prepared.window = {encoded_plan->rows, encoded_plan->columns, 0, 0};
  prepared.landlock_probe = landlock_probe;
  native::run_sandbox_init(prepared, encoded_plan->fds, builder);
}

int try_inside() {
  const bool first = ::getpid() == 1;
  return first && ::mount("try", "/proc", "tmpfs", MS_NOSUID | MS_NODEV, nullptr) == 0 ? 0
                                                                                       : kRefused;
}

}  // namespace cordon::bwrap
