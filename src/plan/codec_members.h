// What codec.cc knows of each part of a plan. Apart from it so that its test can ask for every
// operation and every member; nobody else includes this.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "plan/plan.h"

namespace cordon::codec {

// The members of each type that are handed over, named once for both directions. A type without
// such a line does not compile, and neither does one with a member that its line forgets.
template <typename T>
struct Members;

// Some of the members, on purpose.
template <auto... Pointers>
struct SomeOf {
  static constexpr std::size_t kCount = sizeof...(Pointers);
  template <typename T, typename Act>
  static void each(T& object, const Act& act) {
    (act(object.*Pointers), ...);
  }
};

// All of them: as many as an object of the type can be made of.
template <auto... Pointers>
struct List : SomeOf<Pointers...> {};

struct Anything {
  template <typename T>
  operator T() const;  // never defined: only asked for
};
template <typename T, std::size_t... Index>
constexpr bool is_made_of(std::index_sequence<Index...> /*count*/) {
  return requires { T{(static_cast<void>(Index), Anything())...}; };
}
template <typename T, std::size_t Count = 0>
constexpr std::size_t members_of() {
  constexpr std::size_t kMost = 16;
  if constexpr (Count < kMost && is_made_of<T>(std::make_index_sequence<Count + 1>())) {
    return members_of<T, Count + 1>();
  } else {
    return Count;
  }
}
template <typename T, auto... Pointers>
constexpr bool is_whole(const List<Pointers...>* /*line*/) {
  return members_of<T>() == sizeof...(Pointers);
}
template <typename T, auto... Pointers>
constexpr bool is_whole(const SomeOf<Pointers...>* /*line*/) {
  return true;
}
template <typename T>
constexpr bool kWhole = is_whole<T>(static_cast<const Members<T>*>(nullptr));

template <>
struct Members<FileId> : List<&FileId::device, &FileId::inode> {};
template <>
struct Members<op::EnterNamespaces> : List<&op::EnterNamespaces::own_network> {};
template <>
struct Members<op::MapIdentity> : List<&op::MapIdentity::outside_uid, &op::MapIdentity::outside_gid,
                                       &op::MapIdentity::inside_uid, &op::MapIdentity::inside_gid> {
};
template <>
struct Members<op::PrivateMounts> : List<> {};
template <>
struct Members<op::NewRoot> : List<&op::NewRoot::bytes> {};
template <>
struct Members<op::MakeDirectory> : List<&op::MakeDirectory::path, &op::MakeDirectory::mode> {};
template <>
struct Members<op::MountPoint> : List<&op::MountPoint::path, &op::MountPoint::kind> {};
template <>
struct Members<op::MakeFile>
    : List<&op::MakeFile::path, &op::MakeFile::content, &op::MakeFile::mode> {};
template <>
struct Members<op::MakeSymlink> : List<&op::MakeSymlink::path, &op::MakeSymlink::target> {};
template <>
struct Members<op::BindSystem> : List<&op::BindSystem::path> {};
template <>
struct Members<op::ReadOnlySoFar> : List<> {};
template <>
struct Members<op::Bind>
    : List<&op::Bind::source, &op::Bind::path, &op::Bind::access, &op::Bind::kind, &op::Bind::id> {
};
template <>
struct Members<op::Hold>
    : List<&op::Hold::path, &op::Hold::id, &op::Hold::access, &op::Hold::reason> {};
template <>
struct Members<op::PrivateCopy>
    : List<&op::PrivateCopy::source, &op::PrivateCopy::path, &op::PrivateCopy::kind,
           &op::PrivateCopy::id, &op::PrivateCopy::reason> {};
template <>
struct Members<op::StagedTree>
    : List<&op::StagedTree::path, &op::StagedTree::id, &op::StagedTree::upper,
           &op::StagedTree::work, &op::StagedTree::steady> {};
template <>
struct Members<op::ReadOnlyWay> : List<&op::ReadOnlyWay::path> {};
template <>
struct Members<op::Mask>
    : List<&op::Mask::path, &op::Mask::kind, &op::Mask::id, &op::Mask::reason, &op::Mask::staged> {
};
template <>
struct Members<op::Skeleton::Entry>
    : List<&op::Skeleton::Entry::name, &op::Skeleton::Entry::kind, &op::Skeleton::Entry::target,
           &op::Skeleton::Entry::bound> {};
template <>
struct Members<op::Skeleton>
    : List<&op::Skeleton::path, &op::Skeleton::id, &op::Skeleton::entries> {};
template <>
struct Members<op::Scratch> : List<&op::Scratch::bytes, &op::Scratch::inodes> {};
template <>
struct Members<op::ScratchDirectory>
    : List<&op::ScratchDirectory::name, &op::ScratchDirectory::path, &op::ScratchDirectory::mode> {
};
template <>
struct Members<op::ScratchFile>
    : List<&op::ScratchFile::name, &op::ScratchFile::content, &op::ScratchFile::mode> {};
template <>
struct Members<op::PrivateConfig> : List<&op::PrivateConfig::path, &op::PrivateConfig::id,
                                         &op::PrivateConfig::name, &op::PrivateConfig::target> {};
template <>
struct Members<op::MountProc> : List<> {};
template <>
struct Members<op::MaskProc> : List<&op::MaskProc::path, &op::MaskProc::kind> {};
template <>
struct Members<op::DeviceNode> : List<&op::DeviceNode::path> {};
template <>
struct Members<op::MountDevpts> : List<> {};
template <>
struct Members<op::LoopbackUp> : List<> {};
template <>
struct Members<op::OpenResolver> : List<> {};
// Which ports those are is the supervisor's affair.
template <>
struct Members<op::OfferSockets> : SomeOf<> {};
template <>
struct Members<op::HostName> : List<&op::HostName::name> {};
template <>
struct Members<op::PivotRoot> : List<> {};
template <>
struct Members<op::LandlockAllow>
    : List<&op::LandlockAllow::path, &op::LandlockAllow::use, &op::LandlockAllow::kind,
           &op::LandlockAllow::id, &op::LandlockAllow::optional> {};
template <>
struct Members<op::ReadOnlyRoot> : List<> {};
template <>
struct Members<op::RunExecutor>
    : List<&op::RunExecutor::path, &op::RunExecutor::sha256, &op::RunExecutor::document> {};
// Where it lies and what is in it is the supervisor's affair.
template <>
struct Members<op::RunBundle> : SomeOf<> {};
template <>
struct Members<op::ScopeProcesses> : List<> {};
template <>
struct Members<op::ResourceLimit> : List<&op::ResourceLimit::name, &op::ResourceLimit::value> {};
template <>
struct Members<op::NoNewPrivileges> : List<> {};
template <>
struct Members<op::RestrictLandlock> : List<&op::RestrictLandlock::abi> {};
template <>
struct Members<op::CloseDescriptors> : List<> {};
template <>
struct Members<op::NewSession> : List<> {};
template <>
struct Members<op::NewKeyring> : List<> {};
template <>
struct Members<op::DropCapabilities> : List<&op::DropCapabilities::bounding> {};
template <>
struct Members<op::InstallSeccomp>
    : List<&op::InstallSeccomp::net, &op::InstallSeccomp::brokered,
           &op::InstallSeccomp::shares_host, &op::InstallSeccomp::staged,
           &op::InstallSeccomp::watched> {};
template <>
struct Members<op::LoadProfile>
    : List<&op::LoadProfile::program, &op::LoadProfile::text, &op::LoadProfile::net> {};
template <>
struct Members<op::ChangeDirectory> : List<&op::ChangeDirectory::path> {};
template <>
struct Members<op::Execute> : List<&op::Execute::argv> {};
template <>
struct Members<PlannedLimit> : List<&PlannedLimit::name, &PlannedLimit::value, &PlannedLimit::by> {
};
template <>
struct Members<Plan> : SomeOf<&Plan::build, &Plan::confine, &Plan::seal, &Plan::limits, &Plan::cwd,
                              &Plan::argv, &Plan::candidates, &Plan::environment> {};

template <typename T>
constexpr bool is_number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

}  // namespace cordon::codec
