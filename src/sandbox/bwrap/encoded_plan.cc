#include "sandbox/bwrap/encoded_plan.h"

#include <array>
#include <cstring>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace cordon::bwrap {
namespace {

// The members of each type that are handed over, named once for both directions. A type without
// such a line does not compile.
template <typename T>
struct Members;

template <auto... Pointers>
struct List {
  template <typename T, typename Act>
  static void each(T& object, const Act& act) {
    (act(object.*Pointers), ...);
  }
};

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
struct Members<op::StagedTree> : List<&op::StagedTree::path, &op::StagedTree::id,
                                      &op::StagedTree::upper, &op::StagedTree::work> {};
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
struct Members<op::OfferSockets> : List<> {};
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
struct Members<op::InstallSeccomp> : List<&op::InstallSeccomp::net, &op::InstallSeccomp::brokered,
                                          &op::InstallSeccomp::shares_host> {};
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
struct Members<Plan> : List<&Plan::build, &Plan::confine, &Plan::seal, &Plan::limits, &Plan::argv,
                            &Plan::candidates, &Plan::environment> {};
template <>
struct Members<native::SandboxInitFds>
    : List<&native::SandboxInitFds::in, &native::SandboxInitFds::out, &native::SandboxInitFds::err,
           &native::SandboxInitFds::channel, &native::SandboxInitFds::release,
           &native::SandboxInitFds::lifetime_pipe> {};
template <>
struct Members<EncodedPlan>
    : List<&EncodedPlan::plan, &EncodedPlan::fds, &EncodedPlan::outside, &EncodedPlan::terminal,
           &EncodedPlan::rows, &EncodedPlan::columns> {};

template <typename T>
constexpr bool is_number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

class Writer {
 public:
  template <typename T>
  void operator()(const T& value) const {
    if constexpr (is_number<T>) {
      number(static_cast<std::uint64_t>(value));
    } else {
      Members<T>::each(value, *this);
    }
  }
  void operator()(const std::string& value) const {
    number(value.size());
    text_.append(value);
  }
  template <typename T>
  void operator()(const std::vector<T>& values) const {
    number(values.size());
    for (const T& value : values) (*this)(value);
  }
  template <typename T, std::size_t Size>
  void operator()(const std::array<T, Size>& values) const {
    for (const T& value : values) (*this)(value);
  }
  void operator()(const Op& operation) const {
    number(operation.index());
    std::visit(*this, operation);
  }

  explicit Writer(std::string& text) : text_(text) {}

 private:
  void number(std::uint64_t value) const {
    std::array<char, sizeof value> bytes{};
    std::memcpy(bytes.data(), &value, sizeof value);
    text_.append(bytes.data(), bytes.size());
  }

  std::string& text_;
};

class Reader {
 public:
  struct Rest {
    std::string_view text;
    bool good = true;
  };
  explicit Reader(Rest& rest) : rest_(rest) {}

  template <typename T>
  void operator()(T& value) const {
    if constexpr (is_number<T>) {
      value = static_cast<T>(number());
    } else {
      Members<T>::each(value, *this);
    }
  }
  void operator()(std::string& value) const { value = bytes(number()); }
  template <typename T>
  void operator()(std::vector<T>& values) const {
    // Every value takes at least eight bytes, so that a wrong count cannot ask for more than that.
    const std::uint64_t count = number();
    if (count > rest_.text.size() / sizeof(std::uint64_t)) rest_.good = false;
    if (!rest_.good) return;
    values.resize(count);
    for (T& value : values) (*this)(value);
  }
  template <typename T, std::size_t Size>
  void operator()(std::array<T, Size>& values) const {
    for (T& value : values) (*this)(value);
  }
  void operator()(Op& operation) const {
    const std::uint64_t index = number();
    if (index >= std::variant_size_v<Op>) rest_.good = false;
    if (!rest_.good) return;
    become(operation, index, std::make_index_sequence<std::variant_size_v<Op>>());
    std::visit(*this, operation);
  }

 private:
  template <std::size_t... Indices>
  static void become(Op& operation, std::uint64_t index, std::index_sequence<Indices...>) {
    ((index == Indices ? static_cast<void>(operation.emplace<Indices>()) : void()), ...);
  }
  [[nodiscard]] std::string_view bytes(std::uint64_t size) const {
    if (size > rest_.text.size()) rest_.good = false;
    if (!rest_.good) return {};
    const std::string_view taken = rest_.text.substr(0, size);
    rest_.text.remove_prefix(size);
    return taken;
  }
  [[nodiscard]] std::uint64_t number() const {
    std::uint64_t value = 0;
    const std::string_view taken = bytes(sizeof value);
    if (rest_.good) std::memcpy(&value, taken.data(), sizeof value);
    return value;
  }

  Rest& rest_;
};

}  // namespace

std::string encode(const EncodedPlan& encoded_plan) {
  std::string text;
  Writer writer(text);
  writer(encoded_plan);
  return text;
}

std::optional<EncodedPlan> decode(std::string_view text) {
  Reader::Rest rest{text};
  EncodedPlan encoded_plan;
  Reader reader(rest);
  reader(encoded_plan);
  if (!rest.good || !rest.text.empty()) return std::nullopt;
  return encoded_plan;
}

}  // namespace cordon::bwrap
