#include "plan/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "plan/made_up_host.h"

namespace cordon {
namespace {

using namespace ::testing;        // matchers
using namespace cordon::testing;  // the made-up host

constexpr std::array kAll{
    Loss::Metadata,      Loss::Processes,        Loss::Accounts,      Loss::Scratch,
    Loss::Loopback,      Loss::MemoryBurst,      Loss::ProcessBurst,  Loss::LandlockFiles,
    Loss::LandlockRefer, Loss::LandlockTruncate, Loss::LandlockIoctl, Loss::LandlockScopes,
    Loss::Protected,     Loss::InFlight,         Loss::Appearing,     Loss::Inotify};

TEST(Losses, HaveNamesAndSentencesOfTheirOwn) {
  std::set<std::string_view> names;
  std::set<std::string_view> sentences;
  for (const Loss loss : kAll) {
    names.insert(name_of(loss));
    sentences.insert(sentence_of(loss));
    EXPECT_FALSE(sentence_of(loss).ends_with('.')) << name_of(loss);
  }
  EXPECT_EQ(names.size(), kAll.size());
  EXPECT_EQ(sentences.size(), kAll.size());
  EXPECT_EQ(names.count(""), 0U);
  EXPECT_EQ(sentences.count(""), 0U);
}

TEST(Losses, OfEachLandlockAreThoseOfTheNewerOneAndItsOwn) {
  EXPECT_THAT(landlock_losses(7), IsEmpty());
  for (int abi = 1; abi < 7; ++abi) {
    EXPECT_THAT(landlock_losses(abi), IsSupersetOf(landlock_losses(abi + 1))) << abi;
    for (const Loss loss : landlock_losses(abi)) EXPECT_EQ(reach_of(loss), Reach::Same);
  }
  EXPECT_THAT(landlock_losses(5), ElementsAre(Loss::LandlockScopes));
  EXPECT_THAT(landlock_losses(1), SizeIs(4));
  EXPECT_THAT(landlock_losses(0), ElementsAre(Loss::LandlockFiles, Loss::LandlockScopes));
}

Result<Plan> native_plan(const HostFacts& facts) {
  return make_native_plan(*clamp(resolved_preset("workspace"), {}), facts, made_up_user(),
                          made_up_request());
}

TEST(Losses, OfAPlanComeFromTheHost) {
  HostFacts facts = made_up_facts();
  const auto watched = native_plan(facts);
  ASSERT_TRUE(watched.has_value());
  EXPECT_THAT(watched->lost, ElementsAre(Loss::MemoryBurst, Loss::InFlight));
  facts.cgroup = made_up_cgroup_v2();
  const auto complete = native_plan(facts);
  ASSERT_TRUE(complete.has_value());
  EXPECT_THAT(complete->lost, ElementsAre(Loss::InFlight));
  facts.landlock_abi = 2;
  const auto older = native_plan(facts);
  ASSERT_TRUE(older.has_value());
  std::vector<Loss> expected = landlock_losses(2);
  expected.push_back(Loss::InFlight);
  EXPECT_THAT(older->lost, ElementsAreArray(expected));
}

TEST(Losses, WhatAppearsInADirectoryThatMayNotBeListedIsSeen) {
  HostFacts facts;
  EXPECT_THAT(general_losses(Effective(), facts), Not(Contains(Loss::Appearing)));
  facts.unlisted.emplace_back("/data");
  EXPECT_THAT(general_losses(Effective(), facts), Contains(Loss::Appearing));
}

}  // namespace
}  // namespace cordon
