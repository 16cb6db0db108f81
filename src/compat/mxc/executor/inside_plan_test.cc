#include "compat/mxc/executor/inside.h"

#include <gtest/gtest.h>

namespace cordon::mxc {
namespace {

Plan made_up_plan() {
  Plan plan;
  plan.cwd = "/project";
  plan.argv = {"sh", "-c", "", "\xff\xfe", "two words"};
  plan.candidates = {"/usr/bin/sh", "/bin/sh"};
  plan.environment = {"PATH=/usr/bin", "EMPTY="};
  plan.confine = {op::ResourceLimit{"nofile", 256},
                  op::ResourceLimit{"core", 0},
                  op::NoNewPrivileges{},
                  op::RestrictLandlock{7},
                  op::CloseDescriptors{},
                  op::NewSession{},
                  op::NewKeyring{},
                  op::ChangeDirectory{plan.cwd},
                  op::InstallSeccomp{NetMode::Open},
                  op::Execute{plan.argv}};
  plan.build = {
      op::BindSystem{"/usr"},
      op::LandlockAllow{"/usr", LandlockUse::ReadExecute, FileKind::Directory},
      op::LandlockAllow{"/etc/ld.so.cache", LandlockUse::Read, FileKind::Regular, {}, true}};
  return plan;
}

TEST(MxcInsidePlan, WhatIsPackedComesOutAgain) {
  const Plan plan = made_up_plan();
  const auto inside_plan = decode_inside_plan(encode_inside_plan(plan, true));
  ASSERT_TRUE(inside_plan);
  EXPECT_TRUE(inside_plan->terminal);
  const Plan* back = &inside_plan->plan;
  EXPECT_EQ(back->cwd, plan.cwd);
  EXPECT_EQ(back->argv, plan.argv);
  EXPECT_EQ(back->candidates, plan.candidates);
  EXPECT_EQ(back->environment, plan.environment);
  ASSERT_EQ(back->build.size(), 2U);
  EXPECT_EQ(describe(back->build[0]), describe(plan.build[1]));
  EXPECT_EQ(describe(back->build[1]), describe(plan.build[2]));
  EXPECT_FALSE(std::get<op::LandlockAllow>(back->build[0]).optional);
  EXPECT_TRUE(std::get<op::LandlockAllow>(back->build[1]).optional);
  std::vector<std::string> confine;
  for (const Op& operation : back->confine) confine.push_back(describe(operation));
  EXPECT_EQ(confine, (std::vector<std::string>{
                         "rlimit nofile 256", "rlimit core 0", "no new privileges",
                         "restrict with landlock, ABI 7", "close every descriptor but 0, 1, 2",
                         "new session", "new session keyring", "start in /project",
                         "install seccomp filter, network open, no local sockets",
                         describe(Op(op::Execute{plan.argv}))}));
}

TEST(MxcInsidePlan, NothingElseIsObeyed) {
  const std::string good = encode_inside_plan(made_up_plan(), true);
  ASSERT_TRUE(decode_inside_plan(good));
  EXPECT_FALSE(decode_inside_plan(""));
  for (std::size_t size = 1; size < good.size(); ++size) {
    EXPECT_FALSE(decode_inside_plan(std::string_view(good).substr(0, size))) << size;
  }
  EXPECT_FALSE(decode_inside_plan(good + "x"));
  Plan without = made_up_plan();
  without.argv.clear();
  EXPECT_FALSE(decode_inside_plan(encode_inside_plan(without, true)));
  Plan nul = made_up_plan();
  nul.argv[0] = std::string("a\0b", 3);
  EXPECT_FALSE(decode_inside_plan(encode_inside_plan(nul, true)));
}

}  // namespace
}  // namespace cordon::mxc
