#include "policy/presets.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace cordon {
namespace {

constexpr PresetHost kHost{.memory_bytes = 8ULL << 30U};
const std::vector<PathRule> kSystem{
    {"@system", ""}, {"@toolchains", ""}, {"@caches", ""}, {"@repo", ""}};
const std::vector<PathRule> kCwd{{"@cwd", ""}};

TEST(Presets, AreTheFiveOfTheContract) {
  EXPECT_EQ(std::vector<std::string_view>(preset_names().begin(), preset_names().end()),
            (std::vector<std::string_view>{"strict", "workspace", "readonly", "build", "agent"}));
  EXPECT_TRUE(is_preset("build"));
  EXPECT_FALSE(is_preset("Build"));
  EXPECT_FALSE(is_preset(""));
}

TEST(Presets, StrictGrantsNothingBeyondLoadingAProgram) {
  const Policy strict = make_preset("strict", kHost);
  EXPECT_EQ(strict.fs, FsRules{});
  EXPECT_EQ(strict.net, NetRules{});
  EXPECT_EQ(strict.env, EnvRules{});
  EXPECT_EQ(strict.limits.wall_ms, 30'000U);
  EXPECT_EQ(strict.limits.memory, 512ULL << 20U);
  EXPECT_EQ(strict.limits.pids, 64U);
  EXPECT_EQ(strict.limits.files, 256U);
  EXPECT_EQ(strict.limits.output_total, 256ULL << 20U);
}

TEST(Presets, WorkspaceWritesTheCwdAndHasNoNetworkAndNoWallLimit) {
  const Policy workspace = make_preset("workspace", kHost);
  EXPECT_EQ(workspace.name, "workspace");
  EXPECT_EQ(workspace.fs.read, kSystem);
  EXPECT_EQ(workspace.fs.write, kCwd);
  EXPECT_EQ(workspace.fs.scratch, 1ULL << 30U);
  EXPECT_EQ(workspace.fs.home, HomeMode::Private);
  EXPECT_FALSE(workspace.fs.caches);
  EXPECT_EQ(workspace.net, NetRules{});
  EXPECT_EQ(workspace.limits.wall_ms, std::nullopt);
  EXPECT_EQ(workspace.limits.memory, 4ULL << 30U);
  EXPECT_EQ(workspace.limits.pids, 2048U);
  EXPECT_EQ(workspace.limits.files, 4096U);
  EXPECT_EQ(workspace.limits.output_total, std::nullopt);
}

TEST(Presets, OthersDifferFromWorkspaceOnlyWhereTheySay) {
  Policy expected = make_preset("workspace", kHost);
  expected.name = "readonly";
  expected.fs.read.push_back(kCwd.front());
  expected.fs.write.clear();
  EXPECT_EQ(make_preset("readonly", kHost), expected);

  expected = make_preset("workspace", kHost);
  expected.name = "build";
  expected.fs.caches = true;
  EXPECT_EQ(make_preset("build", kHost), expected);

  expected = make_preset("workspace", kHost);
  expected.name = "agent";
  std::erase(expected.fs.read, PathRule{"@caches", ""});
  expected.fs.home = HomeMode::Persistent;
  expected.net.mode = NetMode::Allow;
  EXPECT_EQ(make_preset("agent", kHost), expected);
}

TEST(Presets, RequireEveryLayerAndAcceptNoneMissing) {
  for (const std::string_view name : preset_names()) {
    const Policy policy = make_preset(name, kHost);
    EXPECT_EQ(policy.require.layers, (std::vector{Layer::Namespaces, Layer::Landlock,
                                                  Layer::Seccomp, Layer::Capabilities}));
    EXPECT_TRUE(policy.require.accept_missing.empty());
    EXPECT_EQ(policy.limits.output, 10240U);
  }
}

TEST(Presets, MemoryCanBeWrittenDownAndReadBackOnAnyHost) {
  for (const std::uint64_t memory : {0ULL, 1ULL, 8'123'456'789ULL}) {
    const auto limit = make_preset("workspace", {memory}).limits.memory;
    ASSERT_TRUE(limit.has_value());
    EXPECT_EQ(parse_size(format_size(*limit)), limit);
  }
}

TEST(PolicyNames, AreTheWordsOfTheDocument) {
  EXPECT_EQ(name_of(NetMode::None), "none");
  EXPECT_EQ(name_of(NetMode::Allow), "allow");
  EXPECT_EQ(name_of(NetMode::Open), "open");
  EXPECT_EQ(name_of(HomeMode::None), "none");
  EXPECT_EQ(name_of(HomeMode::Private), "private");
  EXPECT_EQ(name_of(HomeMode::Persistent), "persistent");
  EXPECT_EQ(name_of(Layer::Namespaces), "namespaces");
  EXPECT_EQ(name_of(Layer::Landlock), "landlock");
  EXPECT_EQ(name_of(Layer::Seccomp), "seccomp");
  EXPECT_EQ(name_of(Layer::Capabilities), "capabilities");
  EXPECT_EQ(name_of(Layer::Cgroup), "cgroup");
}

}  // namespace
}  // namespace cordon
