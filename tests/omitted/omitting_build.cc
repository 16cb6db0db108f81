// sandbox/native/build.cc without the layers that are to be left out. What the other steps need of
// a layer is given to them in another way, so that it is missing alone: without a pid namespace
// there can be no new /proc, so the one outside is shown; nothing that would change an outer
// namespace is done where the sandbox shares it.
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <type_traits>
#include <variant>

#include "omitted_layer.h"
#include "sandbox/native/build.h"

// The product's own functions, with those that are asked for under other names.
#define carry_out carry_out_in_full
#define clone_sandbox clone_sandbox_in_full
#define send_ahead send_ahead_in_full
#include "sandbox/native/build.cc"
#undef send_ahead
#undef clone_sandbox
#undef carry_out

namespace cordon::native {
namespace {

using omitted::accepts_omission;
using omitted::leaves_out;
using omitted::OmittedLayer;

std::uint64_t kept_flags(const op::EnterNamespaces& o) {
  const auto flag = [](OmittedLayer layer, std::uint64_t value) {
    return leaves_out(layer) ? 0 : value;
  };
  return flag(OmittedLayer::User, CLONE_NEWUSER) | flag(OmittedLayer::Mount, CLONE_NEWNS) |
         flag(OmittedLayer::Pid, CLONE_NEWPID) | flag(OmittedLayer::Ipc, CLONE_NEWIPC) |
         flag(OmittedLayer::Uts, CLONE_NEWUTS) | flag(OmittedLayer::Cgroup, CLONE_NEWCGROUP) |
         (o.own_network ? flag(OmittedLayer::Network, CLONE_NEWNET) : 0);
}

// As sys::restrict_tree_read_only, which takes the rights of files as well.
int only_read_only(int tree) {
  struct {  // mount_attr of the kernel, whose header does not go together with the library's
    std::uint64_t set = 1, clear = 0, propagation = 0, user_namespace = 0;
  } attributes;
  return sys::zero_or_errno(::syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE,
                                      &attributes, sizeof attributes));
}

class Omit {
 public:
  Omit(const Op& operation, const Prepared& prepared, BuildState& state)
      : operation_(operation), prepared_(prepared), state_(state) {}

  int operator()(const op::MapIdentity&) const { return unless(OmittedLayer::User); }
  int operator()(const op::HostName&) const { return unless(OmittedLayer::Uts); }
  // Of the outer namespace it may already be up, and is not the sandbox's to change. Where its
  // absence is to be refused, this is what notices it.
  int operator()(const op::LoopbackUp&) const {
    return accepts_omission() ? unless(OmittedLayer::Network) : in_full();
  }
  // At the host's loopback it would be a port of the host.
  int operator()(const op::OpenResolver&) const {
    return accepts_omission() ? unless(OmittedLayer::Network) : in_full();
  }
  int operator()(const op::MountProc&) const {
    if (!leaves_out(OmittedLayer::Pid)) return in_full();
    return sys::zero_or_errno(::mount("/proc", "proc", nullptr, MS_BIND | MS_REC, nullptr));
  }
  int operator()(const op::PivotRoot&) const {
    if (!leaves_out(OmittedLayer::PivotRoot)) return in_full();
    return sys::zero_or_errno(::chdir("/"));
  }
  int operator()(const op::ReadOnlySoFar&) const { return unless(OmittedLayer::ReadOnly); }
  int operator()(const op::ReadOnlyRoot&) const {
    if (leaves_out(OmittedLayer::PivotRoot)) return 0;  // it would be the outer root
    if (!leaves_out(OmittedLayer::ReadOnly)) return in_full();
    return sys::zero_or_errno(::unlink(kLandlockProbe));
  }
  int operator()(const op::Bind& o) const {
    if (leaves_out(OmittedLayer::Mounts) && is_set(o.id)) return skip_source();
    if (leaves_out(OmittedLayer::NoSuid)) return bind_with_rights_of_files(o);
    if (!leaves_out(OmittedLayer::ReadOnly)) return in_full();
    op::Bind writable = o;
    writable.access = MountAccess::ReadWrite;
    return carry_out_in_full(writable, prepared_, state_);
  }
  // What is only in the new root cannot be named in a rule.
  int operator()(const op::LandlockAllow&) const {
    const int error = in_full();
    const bool elsewhere = error == -ENOENT && accepts_omission();
    return elsewhere && leaves_out(OmittedLayer::PivotRoot) ? 0 : error;
  }
  // A granted home is shown as a directory of places, one for each entry but the credentials.
  // Without that it is the home itself.
  int operator()(const op::Skeleton& o) const {
    if (!leaves_out(OmittedLayer::Masks)) return in_full();
    const int source = ::open(o.path.c_str(), O_PATH | O_CLOEXEC);
    if (source < 0) return -errno;
    const int tree = sys::open_tree_at(source);
    ::close(source);
    const int error = tree < 0 ? tree : sys::restrict_tree_read_only(tree);
    const int target = error < 0 ? error : open_target(o.path);
    if (target >= 0) return attach_and_close(tree, target);
    if (tree >= 0) ::close(tree);
    return target;
  }
  int operator()(const op::Mask&) const { return unless(OmittedLayer::Masks); }
  int operator()(const op::Hold&) const { return unless(OmittedLayer::Holds); }
  int operator()(const op::PrivateConfig&) const { return unless(OmittedLayer::Holds); }
  int operator()(const op::PrivateCopy&) const {
    return leaves_out(OmittedLayer::Holds) ? skip_source() : in_full();
  }
  template <typename Other>
  int operator()(const Other&) const {
    return in_full();
  }

 private:
  [[nodiscard]] int in_full() const { return carry_out_in_full(operation_, prepared_, state_); }
  [[nodiscard]] int unless(OmittedLayer layer) const { return leaves_out(layer) ? 0 : in_full(); }
  [[nodiscard]] int bind_with_rights_of_files(const op::Bind& o) const {
    if (prepared_.becomes_owner) ++state_.next_source;
    const int source = open_source(o);
    if (source < 0) return source;
    const int tree = sys::open_tree_at(source);
    ::close(source);
    const bool read_only = o.access == MountAccess::ReadOnly && !leaves_out(OmittedLayer::ReadOnly);
    const int error = tree < 0 ? tree : read_only ? only_read_only(tree) : 0;
    const int target = error < 0 ? error : open_target(o.path);
    if (target >= 0) return attach_and_close(tree, target);
    if (tree >= 0) ::close(tree);
    return target;
  }
  // Its source was opened early, in the order of the operations.
  [[nodiscard]] int skip_source() const {
    if (prepared_.becomes_owner) ++state_.next_source;
    return 0;
  }

  const Op& operation_;
  const Prepared& prepared_;
  BuildState& state_;
};

}  // namespace

sys::CloneResult clone_sandbox(const op::EnterNamespaces& o, int cgroup) {
  // Both may end the process. Its copies only read the answer of the second.
  omitted::refuse_to_change_the_host();
  accepts_omission();
  return sys::clone_process(kept_flags(o), leaves_out(OmittedLayer::Cgroups) ? -1 : cgroup);
}

// Which namespaces are left out is told to the one above alone.
std::unique_ptr<Forerunner> send_ahead() { return nullptr; }

int carry_out(const Op& operation, const Prepared& prepared, BuildState& state) {
  return std::visit(Omit(operation, prepared, state), operation);
}

}  // namespace cordon::native
