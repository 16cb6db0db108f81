#include "sandbox/bwrap/arguments.h"

#include <array>
#include <initializer_list>
#include <variant>

#include "base/check.h"

namespace cordon::bwrap {
namespace {

constexpr std::uint64_t kBroughtBytes = 1ULL << 20;

std::string octal(unsigned mode) {
  std::string digits;
  for (int shift = 9; shift >= 0; shift -= 3) {
    digits += static_cast<char>('0' + ((mode >> static_cast<unsigned>(shift)) & 7U));
  }
  return digits;
}

class Words {
 public:
  void add(std::initializer_list<std::string_view> words) {
    for (const std::string_view word : words) text_.append(word).push_back('\0');
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

class Translate {
 public:
  Translate(Words& words, std::span<const int> pins) : words_(words), pins_(pins) {}

  void operator()(const op::EnterNamespaces& o) {
    words_.add(
        {"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup"});
    if (o.own_network) words_.add({"--unshare-net"});
    // The first process is Cordon's own, finishes the root and then gives up every capability.
    words_.add({"--as-pid-1", "--cap-add", "ALL"});
  }
  void operator()(const op::MapIdentity& o) {
    words_.add({"--uid", std::to_string(o.inside_uid), "--gid", std::to_string(o.inside_gid)});
  }
  void operator()(const op::NewRoot& o) {
    words_.add({"--perms", "0755", "--size", std::to_string(o.bytes), "--tmpfs", "/"});
    words_.add({"--perms", "0700", "--size", std::to_string(kBroughtBytes), "--tmpfs", kBrought});
  }
  void operator()(const op::MakeDirectory& o) {
    if (!system_bound_) words_.add({"--perms", octal(o.mode), "--dir", o.path});
  }
  void operator()(const op::MakeSymlink& o) {
    if (!system_bound_) words_.add({"--symlink", o.target, o.path});
  }
  void operator()(const op::BindSystem& o) { words_.add({"--ro-bind", o.path, o.path}); }
  // Without it nothing could be executed by descriptor.
  void operator()(const op::MountProc&) { words_.add({"--proc", "/proc"}); }
  void operator()(const op::ReadOnlySoFar&) { system_bound_ = true; }
  void operator()(const op::Bind& o) {
    const bool read_only = o.access == MountAccess::ReadOnly;
    const std::string place = brought_path(brought_++);
    if (o.id == FileId{}) {
      words_.add({read_only ? "--ro-bind" : "--bind", o.source, place});
      return;
    }
    CORDON_ASSERT(next_pin_ < pins_.size());
    const std::string pin = std::to_string(pins_[next_pin_++]);
    words_.add({read_only ? "--ro-bind-fd" : "--bind-fd", pin, place});
  }
  void operator()(const op::DeviceNode& o) {
    words_.add({"--dev-bind", o.path, brought_path(brought_++)});
  }
  void operator()(const op::HostName& o) { words_.add({"--hostname", o.name}); }

  // Done by bubblewrap unasked.
  void operator()(const op::PrivateMounts&) {}
  void operator()(const op::LoopbackUp&) {}
  void operator()(const op::PivotRoot&) {}
  // Left to the first process.
  void operator()(const op::MakeFile&) {}
  void operator()(const op::MaskProc&) {}
  void operator()(const op::MountDevpts&) {}
  void operator()(const op::Scratch&) {}
  void operator()(const op::ScratchDirectory&) {}
  void operator()(const op::ScratchFile&) {}
  void operator()(const op::MountPoint&) {}
  void operator()(const op::Mask&) {}
  void operator()(const op::Skeleton&) {}
  void operator()(const op::Hold&) {}
  void operator()(const op::ReadOnlyWay&) {}
  void operator()(const op::PrivateConfig&) {}
  void operator()(const op::OpenResolver&) {}
  void operator()(const op::OfferSockets&) {}
  void operator()(const op::LandlockAllow&) {}
  void operator()(const op::ReadOnlyRoot&) {}
  // Of the command's own process.
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
  // Of other backends: no plan of native's has them.
  void operator()(const op::RunExecutor&) { CORDON_ASSERT(false); }
  void operator()(const op::RunBundle&) { CORDON_ASSERT(false); }
  void operator()(const op::ScopeProcesses&) { CORDON_ASSERT(false); }
  void operator()(const op::LoadProfile&) { CORDON_ASSERT(false); }
  // Of native's own: a plan for bubblewrap holds read-only what that one covers, and a run that is
  // to be staged is refused.
  void operator()(const op::PrivateCopy&) { CORDON_ASSERT(false); }
  void operator()(const op::StagedTree&) { CORDON_ASSERT(false); }

 private:
  Words& words_;
  std::span<const int> pins_;
  bool system_bound_ = false;
  unsigned brought_ = 0;
  std::size_t next_pin_ = 0;
};

}  // namespace

std::string brought_path(unsigned number) {
  return std::string(kBrought) + "/" + std::to_string(number);
}

std::string arguments(const Plan& plan, std::span<const int> pins) {
  Words words;
  Translate translate(words, pins);
  for (const Op& operation : plan.build) std::visit(translate, operation);
  words.add({"--chdir", "/"});
  return words.take();
}

}  // namespace cordon::bwrap
