#include "plan/view.h"

#include <algorithm>
#include <map>
#include <type_traits>

#include "base/path.h"
#include "policy/decide.h"

namespace cordon {
namespace {

template <typename Operation, typename... Others>
constexpr bool kIsOneOf = (std::is_same_v<Operation, Others> || ...);
template <typename Operation>
constexpr bool kShowsNothing =
    kIsOneOf<Operation, op::EnterNamespaces, op::MapIdentity, op::PrivateMounts, op::ReadOnlySoFar,
             op::Scratch, op::LoopbackUp, op::OpenResolver, op::OfferSockets, op::HostName,
             op::PivotRoot, op::ReadOnlyRoot, op::RunExecutor, op::RunBundle, op::ScopeProcesses,
             op::ResourceLimit, op::NoNewPrivileges, op::RestrictLandlock, op::CloseDescriptors,
             op::NewSession, op::NewKeyring, op::DropCapabilities, op::InstallSeccomp,
             op::LoadProfile, op::ChangeDirectory, op::Execute>;

// Carries the operations out for one path alone.
class Viewer {
 public:
  explicit Viewer(std::string_view path) : path_(path) {}

  View view(const Plan& plan) {
    const bool own_root = std::ranges::any_of(plan.build, [](const Op& operation) {
      return std::holds_alternative<op::NewRoot>(operation);
    });
    // Without mounts there is no other root than the host's.
    if (!own_root) put(Shown::Host, "/", "/", true);
    for (const Op& operation : plan.build) {
      std::visit([&](const auto& one) { carry_out(one); }, operation);
    }
    if (std::ranges::none_of(plan.confine, [](const Op& operation) {
          return std::holds_alternative<op::RestrictLandlock>(operation);
        })) {
      found_.may_list = found_.may_read = found_.may_write = found_.may_execute = true;
    }
    return std::move(found_);
  }

 private:
  void put(Shown shown, std::string_view place, std::string source, bool writable) {
    found_.shown = shown;
    found_.place = place;
    found_.source = std::move(source);
    found_.writable = writable;
    found_.reason.clear();
    found_.there = shown != Shown::Host && shown != Shown::Staged && path_ == place;
    found_.directory = false;
  }
  // A directory that leads to a mount: in a private place it is that place's own.
  void make_directory(std::string_view path) {
    if (path != path_) return;
    if (found_.shown != Shown::Private && found_.shown != Shown::Kept) {
      put(Shown::Made, path, {}, false);
    }
    found_.there = true;
    found_.directory = true;
  }
  void make(const std::string& path) {
    if (path == path_) put(Shown::Made, path, {}, false);
  }

  // These put nothing anywhere. A new operation is to be named here, or carried out below.
  template <typename Other>
  requires kShowsNothing<Other>
  void carry_out(const Other& /*one*/) {}
  void carry_out(const op::NewRoot& /*one*/) { make_directory("/"); }
  void carry_out(const op::MakeDirectory& one) { make_directory(one.path); }
  void carry_out(const op::MountPoint& one) {
    if (one.kind == FileKind::Directory) return make_directory(one.path);
    make(one.path);
  }
  void carry_out(const op::MakeFile& one) { make(one.path); }
  void carry_out(const op::MakeSymlink& one) { make(one.path); }
  void carry_out(const op::BindSystem& one) {
    if (contains(one.path, path_)) put(Shown::Host, one.path, one.path, false);
  }
  void carry_out(const op::Bind& one) {
    if (!contains(one.path, path_)) return;
    const bool own = one.source != one.path;
    const bool writable = one.access == MountAccess::ReadWrite;
    const Shown kept = writable ? Shown::Kept : Shown::Made;
    put(own ? kept : Shown::Host, one.path, one.source, writable);
    found_.directory = own && one.path == path_ && one.kind == FileKind::Directory;
  }
  void carry_out(const op::Hold& one) {
    if (!contains(one.path, path_)) return;
    put(Shown::Host, one.path, one.path, one.access == MountAccess::ReadWrite);
    found_.reason = one.reason;
  }
  void carry_out(const op::PrivateCopy& one) {
    if (!contains(one.path, path_)) return;
    put(Shown::Copy, one.path, one.path, true);
    found_.reason = one.reason;
  }
  void carry_out(const op::PrivateConfig& one) {
    if (one.path == path_) put(Shown::Config, one.path, one.path, true);
  }
  void carry_out(const op::StagedTree& one) {
    if (contains(one.path, path_)) put(Shown::Staged, one.path, one.path, true);
  }
  void carry_out(const op::ReadOnlyWay& one) {
    if (found_.shown == Shown::Private && contains(one.path, path_)) found_.writable = false;
  }
  void carry_out(const op::Mask& one) {
    if (!contains(one.path, path_)) return;
    put(Shown::Masked, one.path, {}, false);
    found_.reason = one.reason;
    found_.there = false;
  }
  void carry_out(const op::Skeleton& one) {
    if (!contains(one.path, path_)) return;
    put(Shown::Nothing, one.path, {}, false);
    if (one.path == path_) {
      put(Shown::Made, one.path, one.path, false);
      found_.directory = true;
    }
    // What is bound gets its own operation; an entry that is not, and is no link, is a mask's.
    for (const op::Skeleton::Entry& entry : one.entries) {
      const std::string place = join(one.path, entry.name);
      if (!contains(place, path_)) continue;
      if (entry.target.empty()) {
        put(Shown::Masked, place, {}, false);
        found_.there = false;
      } else {
        make(place);
      }
    }
  }
  void carry_out(const op::ScratchDirectory& one) {
    scratch_[one.name] = one.path;
    if (!contains(one.path, path_)) return;
    put(Shown::Private, one.path, {}, true);
    found_.directory = one.path == path_;
  }
  void carry_out(const op::ScratchFile& one) {
    const auto place = scratch_.find(one.name.substr(0, one.name.find('/')));
    if (place == scratch_.end() || found_.shown != Shown::Private) return;
    if (join(place->second, one.name.substr(one.name.find('/') + 1)) == path_) found_.there = true;
  }
  void carry_out(const op::MountProc& /*one*/) {
    if (contains("/proc", path_)) put(Shown::Process, "/proc", {}, false);
  }
  void carry_out(const op::MaskProc& one) {
    if (contains(one.path, path_)) put(Shown::Masked, one.path, {}, false);
  }
  void carry_out(const op::DeviceNode& one) {
    if (one.path == path_) put(Shown::Device, one.path, {}, true);
  }
  void carry_out(const op::MountDevpts& /*one*/) {
    if (contains(kTerminals, path_)) put(Shown::Device, kTerminals, {}, true);
  }
  void carry_out(const op::LandlockAllow& one) {
    if (!contains(one.path, path_)) return;
    const bool writes = one.use == LandlockUse::ReadWrite || one.use == LandlockUse::Device;
    found_.may_list = true;
    found_.may_read = found_.may_read || one.use != LandlockUse::List;
    found_.may_write = found_.may_write || writes;
    found_.may_execute = found_.may_execute || one.use == LandlockUse::ReadExecute ||
                         one.use == LandlockUse::ReadWrite;
  }

  std::string_view path_;
  View found_;
  std::map<std::string, std::string> scratch_;  // where its directories are, by name
};

}  // namespace

View view_of(const Plan& plan, std::string_view path) { return Viewer(path).view(plan); }

}  // namespace cordon
