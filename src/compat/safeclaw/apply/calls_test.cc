#include "compat/safeclaw/apply/calls.h"

#include <gmock/gmock.h>

#include "compat/safeclaw/safeclaw_policy.h"

namespace cordon::apply {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> names_of(const NamedCalls& named) {
  std::vector<std::string> names;
  for (const KnownSyscall& call : named.calls) names.emplace_back(call.name);
  return names;
}

NamedCalls resolved(std::vector<std::string> names, Arch arch) {
  names.emplace_back("execve");
  auto named = resolve_calls(names, arch);
  EXPECT_TRUE(named) << (named ? "" : named.error().text);
  return named.value_or(NamedCalls{});
}

TEST(CallNames, MeanTheCallThatDoesTheWorkHere) {
  const NamedCalls here = resolved({"open", "getpgrp", "access", "openat"}, Arch::Aarch64);
  EXPECT_THAT(names_of(here), ElementsAre("openat", "getpgid", "faccessat", "execve"));
  EXPECT_THAT(here.renamed, ElementsAre("open: openat", "getpgrp: getpgid", "access: faccessat"));
  const NamedCalls there = resolved({"open", "getpgrp"}, Arch::X86_64);
  EXPECT_THAT(names_of(there), ElementsAre("open", "getpgrp", "execve"));
  EXPECT_THAT(there.renamed, IsEmpty());
}

TEST(CallNames, WithoutAnEquivalentHaveNoEffectAndAreTold) {
  const NamedCalls here = resolved({"arch_prctl"}, Arch::Aarch64);
  EXPECT_THAT(here.without_effect, ElementsAre("arch_prctl"));
  EXPECT_THAT(names_of(here), ElementsAre("execve"));
  EXPECT_THAT(resolved({"arch_prctl"}, Arch::X86_64).without_effect, IsEmpty());
}

TEST(CallNames, EveryProfileLoadsOnBothArchitectures) {
  for (const Arch arch : {Arch::Aarch64, Arch::X86_64}) {
    for (const SafeClawProfile profile : {SafeClawProfile::Default, SafeClawProfile::MinimalDynamic,
                                          SafeClawProfile::Development}) {
      const auto list = safeclaw_calls(profile);
      EXPECT_LE(list.size(), 256U);
      const auto named = resolve_calls(list, arch);
      ASSERT_TRUE(named) << named.error().text;
      // What has no equivalent is x86's own.
      for (const std::string& name : named->without_effect) EXPECT_EQ(name, "arch_prctl");
    }
  }
}

TEST(CallNames, OfProfilesGrowFromOneToTheNext) {
  const auto first = safeclaw_calls(SafeClawProfile::Default);
  const auto second = safeclaw_calls(SafeClawProfile::MinimalDynamic);
  const auto third = safeclaw_calls(SafeClawProfile::Development);
  EXPECT_EQ(first.size(), 27U);
  EXPECT_THAT(first, Not(Contains("openat")));
  EXPECT_THAT(second, Contains("openat"));
  for (const auto& name : first) EXPECT_THAT(second, Contains(name));
  for (const auto& name : second) EXPECT_THAT(third, Contains(name));
}

TEST(CallNames, OfNobodyAreRefusedByName) {
  for (const char* name : {"opne", "mount", "ptrace", "bpf", "unshare", "keyctl", "kexec_load"}) {
    for (const Arch arch : {Arch::Aarch64, Arch::X86_64}) {
      const std::vector<std::string> names{"execve", name};
      const auto refused = resolve_calls(names, arch);
      ASSERT_FALSE(refused) << name;
      EXPECT_EQ(refused.error().status, Status::Seccomp);
      EXPECT_NE(refused.error().text.find(name), std::string::npos) << refused.error().text;
    }
  }
}

// They are in lists that people have; what tries them falls back.
TEST(CallNames, OfCallsWithAFallbackAreAnswered) {
  const NamedCalls named = resolved({"clone3", "openat2", "io_uring_setup"}, Arch::Aarch64);
  EXPECT_THAT(named.unanswered, ElementsAre("clone3", "openat2", "io_uring_setup"));
}

TEST(CallNames, WithoutExecveStartNothing) {
  const std::vector<std::string> names{"read", "write"};
  const auto refused = resolve_calls(names, Arch::Aarch64);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::Seccomp);
}

}  // namespace
}  // namespace cordon::apply
