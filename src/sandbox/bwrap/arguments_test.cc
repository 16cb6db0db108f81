#include "sandbox/bwrap/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "plan/made_up_host.h"

namespace cordon::bwrap {
namespace {

using namespace cordon::testing;  // the made-up host
using ::testing::Contains;
using ::testing::Not;

Plan plan_of(const Resolved& request) {
  auto plan =
      make_native_plan(*clamp(request, {}), made_up_facts(), made_up_user(), made_up_request());
  EXPECT_TRUE(plan);
  return std::move(*plan);
}

std::vector<std::string> words_of(const Plan& plan, const std::vector<int>& pins) {
  const std::string text = arguments(plan, pins);
  std::vector<std::string> words;
  for (const std::string_view word : split(text, '\0')) words.emplace_back(word);
  return words;
}

// The words that follow the first `option`.
std::vector<std::string> after(const std::vector<std::string>& words, const std::string& option,
                               std::ptrdiff_t count) {
  const auto found = std::ranges::find(words, option);
  if (words.end() - found <= count) return {};
  return {found + 1, found + 1 + count};
}

TEST(BwrapArguments, AskForEveryNamespaceByName) {
  const auto words = words_of(plan_of(resolved_preset("workspace")), {40, 41});
  for (const char* option : {"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
                             "--unshare-cgroup", "--unshare-net", "--as-pid-1"}) {
    EXPECT_THAT(words, Contains(option));
  }
  EXPECT_EQ(after(words, "--uid", 3), (std::vector<std::string>{"1000", "--gid", "1000"}));
}

TEST(BwrapArguments, KeepTheHostsNetworkOnlyWhereThePlanDoes) {
  Resolved request = resolved_preset("workspace");
  request.policy.net.mode = share_the_hosts_network();
  EXPECT_THAT(words_of(plan_of(request), {40, 41}), Not(Contains("--unshare-net")));
}

TEST(BwrapArguments, BringJudgedObjectsByDescriptorAndInOrder) {
  const Plan plan = plan_of(resolved_preset("workspace"));
  std::vector<std::string> expected;
  unsigned number = 0;
  int pin = 40;
  for (const Op& operation : plan.build) {
    if (std::holds_alternative<op::DeviceNode>(operation)) ++number;
    const auto* bind = std::get_if<op::Bind>(&operation);
    if (bind == nullptr) continue;
    const bool read_only = bind->access == MountAccess::ReadOnly;
    expected.insert(expected.end(), {read_only ? "--ro-bind-fd" : "--bind-fd",
                                     std::to_string(pin++), brought_path(number++)});
  }
  ASSERT_EQ(pin, 42) << "the made-up workspace has a project and toolchains";
  const auto words = words_of(plan, {40, 41});
  EXPECT_NE(std::search(words.begin(), words.end(), expected.begin(), expected.end()), words.end());
  // What they are called on the host is not said.
  EXPECT_THAT(words, Not(Contains("/home/alex/project")));
}

TEST(BwrapArguments, NeverMountInsideAGrant) {
  Plan plan = plan_of(resolved_preset("workspace"));
  const FileId id{64, 9};
  plan.build.emplace_back(op::Hold{"/home/alex/project/.git", id, MountAccess::ReadOnly, "git"});
  plan.build.emplace_back(op::Mask{"/home/alex/project/.env", FileKind::Regular, id, "deny"});
  plan.build.emplace_back(op::MakeDirectory{"/home/alex/project/made", 0755});
  for (const std::string& word : words_of(plan, {40, 41})) {
    EXPECT_FALSE(word.starts_with("/home/alex")) << word;
  }
}

TEST(BwrapArguments, BindTheSystemReadOnly) {
  const auto words = words_of(plan_of(resolved_preset("workspace")), {40, 41});
  const std::vector<std::string> expected{"--ro-bind", "/usr", "/usr"};
  EXPECT_NE(std::search(words.begin(), words.end(), expected.begin(), expected.end()), words.end());
}

}  // namespace
}  // namespace cordon::bwrap
