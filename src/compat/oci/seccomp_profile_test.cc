// The profile against the filter that it stands for, over the calls and arguments that the filter
// itself is tested with; and against an engine's profile, which it must never be wider than.
#include "compat/oci/seccomp_profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/bpf_interpreter.h"
#include "support/filter_calls.h"

namespace cordon::oci {
namespace {

using CallArguments = std::array<std::uint64_t, 4>;

constexpr Arch kBoth[] = {Arch::Aarch64, Arch::X86_64};

std::uint64_t value_at(const Node& condition, std::string_view key) {
  const Node* member = condition.find(key);
  return member == nullptr ? 0 : static_cast<std::uint64_t>(std::get<std::int64_t>(member->value));
}

// A profile without a member is a failure of the test, by exception.
const Node& member_of(const Node& node, const char* key) {
  const Node* found = node.find(key);
  if (found == nullptr) throw std::out_of_range(key);
  return *found;
}
const std::string& text_of(const Node& node) { return std::get<std::string>(node.value); }
const NodeList& list_of(const Node& node) { return std::get<NodeList>(node.value); }

bool holds(const Node& condition, const CallArguments& arguments) {
  const std::uint64_t argument = arguments.at(value_at(condition, "index"));
  const std::string& op = text_of(member_of(condition, "op"));
  const std::uint64_t value = value_at(condition, "value");
  if (op == "SCMP_CMP_EQ") return argument == value;
  if (op == "SCMP_CMP_NE") return argument != value;
  if (op == "SCMP_CMP_LT") return argument < value;
  EXPECT_EQ(op, "SCMP_CMP_MASKED_EQ");
  return (argument & value) == value_at(condition, "valueTwo");
}

// As libseccomp takes a profile; two conditions on one argument would be two rules.
class Profile {
 public:
  explicit Profile(const Node& node)
      : allows_(text_of(member_of(node, "defaultAction")) == "SCMP_ACT_ALLOW") {
    for (const Node& entry : list_of(member_of(node, "syscalls"))) {
      for (const Node& name : list_of(member_of(entry, "names"))) {
        entries_[text_of(name)].push_back(&entry);
      }
      std::set<std::uint64_t> indexes;
      const Node* conditions = entry.find("args");
      if (conditions == nullptr) continue;
      for (const Node& condition : list_of(*conditions)) {
        EXPECT_TRUE(indexes.insert(value_at(condition, "index")).second);
      }
    }
  }

  [[nodiscard]] bool lets_through(std::string_view name, const CallArguments& arguments) const {
    bool allowed = allows_;
    const auto found = entries_.find(name);
    if (found == entries_.end()) return allowed;
    for (const Node* entry : found->second) {
      const Node* conditions = entry->find("args");
      const auto meets = [&](const Node& condition) { return holds(condition, arguments); };
      if (conditions != nullptr && !std::ranges::all_of(list_of(*conditions), meets)) continue;
      if (text_of(member_of(*entry, "action")) != "SCMP_ACT_ALLOW") return false;
      allowed = true;
    }
    return allowed;
  }

 private:
  bool allows_;
  std::map<std::string, std::vector<const Node*>, std::less<>> entries_;
};

bool lets_through(const Node& profile, std::string_view name, const CallArguments& arguments) {
  return Profile(profile).lets_through(name, arguments);
}

// Every call with the arguments that matter for it.
template <typename Each>
void each_call(Arch arch, Each each) {
  const auto known = interesting();
  for (const KnownSyscall& syscall : known_syscalls()) {
    if (!syscall.number(arch)) continue;
    for (const CallArguments& arguments : kUsualArguments) each(syscall, arguments);
    const auto found = known.find(syscall.name);
    if (found == known.end()) continue;
    for (const std::uint64_t first : found->second[0])
      for (const std::uint64_t second : found->second[1])
        for (const std::uint64_t third : found->second[2])
          for (const std::uint64_t fourth : found->second[3])
            each(syscall, CallArguments{first, second, third, fourth});
  }
}

// What the filter refuses for the sake of Cordon's own init, or of a broker.
bool is_without_reason_here(const KnownSyscall& syscall) {
  constexpr Decision kThose[] = {Decision::OfProcess, Decision::Priority, Decision::IoPriority,
                                 Decision::SetSocketOption};
  return std::ranges::find(kThose, syscall.decision) != std::end(kThose);
}

TEST(OciProfile, LetsThroughWhatTheFilterLetsThrough) {
  for (const Arch arch : kBoth) {
    for (const bool open : {false, true}) {
      const FilterProfile same{open ? NetMode::Open : NetMode::None, false};
      const auto program = compile_filter(arch, same);
      BpfInterpreter filter(program);
      const auto profile = narrowed_profile(arch, {.ping = open, .local_sockets = false}, nullptr);
      ASSERT_TRUE(profile);
      const Profile made(*profile);
      each_call(arch, [&](const KnownSyscall& syscall, const CallArguments& arguments) {
        const bool mine = made.lets_through(syscall.name, arguments);
        if (is_without_reason_here(syscall)) {
          EXPECT_TRUE(mine) << syscall.name;
          return;
        }
        const auto number = static_cast<std::uint32_t>(*syscall.number(arch));
        const bool theirs = filter.run(call(token(arch), number, arguments)) == SECCOMP_RET_ALLOW;
        EXPECT_EQ(mine, theirs) << syscall.name << " " << arguments[0] << " " << arguments[1] << " "
                                << arguments[2] << " " << arguments[3];
      });
    }
  }
}

TEST(OciProfile, LooksAtTheBitsThatTheKernelTakes) {
  const auto profile = narrowed_profile(Arch::X86_64, {}, nullptr);
  ASSERT_TRUE(profile);
  constexpr std::uint64_t kHigh = std::uint64_t{1} << 40;
  EXPECT_FALSE(lets_through(*profile, "ioctl", {0, kHigh | 0x5412, 0, 0}));
  EXPECT_TRUE(lets_through(*profile, "ioctl", {0, kHigh | 0x5413, 0, 0}));
  EXPECT_FALSE(lets_through(*profile, "fcntl", {0, kHigh | 1024, 0, 0}));
  EXPECT_FALSE(lets_through(*profile, "clone", {kHigh | 0x10000000, 0, 0, 0}));
}

TEST(OciProfile, MakesLocalSocketsOnlyWhereNothingOfTheHostsLies) {
  const auto without =
      narrowed_profile(Arch::X86_64, {.ping = false, .local_sockets = false}, nullptr);
  const auto with = narrowed_profile(Arch::X86_64, {.ping = false, .local_sockets = true}, nullptr);
  ASSERT_TRUE(without && with);
  EXPECT_FALSE(lets_through(*without, "socket", {1, 1, 0, 0}));
  EXPECT_TRUE(lets_through(*with, "socket", {1, 1, 0, 0}));
}

constexpr std::string_view kEngines[] = {
    R"({"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [
        {"names": ["read", "clone", "chmod", "mkdir", "socket", "bpf", "unshare"], "action": "SCMP_ACT_ALLOW"}]})",
    R"({"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [
        {"names": ["ioctl", "prctl", "read"], "action": "SCMP_ACT_ALLOW"},
        {"names": ["clone"], "action": "SCMP_ACT_ALLOW",
         "args": [{"index": 0, "value": 2114060288, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}]},
        {"names": ["personality"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 8, "op": "SCMP_CMP_EQ"}]},
        {"names": ["personality"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 0, "op": "SCMP_CMP_EQ"}]},
        {"names": ["socket"], "action": "SCMP_ACT_ERRNO", "errnoRet": 22,
         "args": [{"index": 0, "value": 16, "op": "SCMP_CMP_EQ"}, {"index": 2, "value": 9, "op": "SCMP_CMP_EQ"}]},
        {"names": ["socket"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 2, "value": 9, "op": "SCMP_CMP_NE"}]},
        {"names": ["socket"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 16, "op": "SCMP_CMP_NE"}]}]})",
    R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
        {"names": ["mkdir"], "action": "SCMP_ACT_ERRNO"},
        {"names": ["chmod"], "action": "SCMP_ACT_ERRNO", "args": [{"index": 1, "value": 511, "op": "SCMP_CMP_EQ"}]},
        {"names": ["socket"], "action": "SCMP_ACT_KILL", "args": [{"index": 0, "value": 10, "op": "SCMP_CMP_EQ"}]},
        {"names": ["sendto"], "action": "SCMP_ACT_TRAP", "args": [{"index": 3, "value": 7, "op": "SCMP_CMP_LT"}]}]})"};

TEST(OciProfile, IsNeverWiderThanTheEnginesOrCordons) {
  for (const std::string_view text : kEngines) {
    const auto engine = read_json(text, "engine");
    ASSERT_TRUE(engine);
    const auto own = narrowed_profile(Arch::X86_64, {}, nullptr);
    const auto joined = narrowed_profile(Arch::X86_64, {}, &*engine);
    ASSERT_TRUE(own && joined);
    const Profile both(*joined);
    const Profile cordons(*own);
    const Profile engines(*engine);
    std::set<std::string_view> through;
    each_call(Arch::X86_64, [&](const KnownSyscall& syscall, const CallArguments& arguments) {
      if (!both.lets_through(syscall.name, arguments)) return;
      through.insert(syscall.name);
      EXPECT_TRUE(cordons.lets_through(syscall.name, arguments)) << syscall.name;
      EXPECT_TRUE(engines.lets_through(syscall.name, arguments)) << syscall.name;
    });
    EXPECT_TRUE(through.contains("read"));
    EXPECT_TRUE(through.contains("socket"));
    EXPECT_FALSE(through.contains("bpf"));
  }
}

TEST(OciProfile, RefusesWhatHandsCallsToAnother) {
  for (
      const std::string_view text :
      {R"({"defaultAction": "SCMP_ACT_NOTIFY"})",
       R"({"defaultAction": "SCMP_ACT_ERRNO", "listenerPath": "/run/x"})",
       R"({"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"names": ["mount"], "action": "SCMP_ACT_NOTIFY"}]})",
       R"({"syscalls": []})"}) {
    const auto engine = read_json(text, "engine");
    ASSERT_TRUE(engine);
    EXPECT_FALSE(narrowed_profile(Arch::X86_64, {}, &*engine)) << text;
  }
}

}  // namespace
}  // namespace cordon::oci
