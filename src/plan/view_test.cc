#include "plan/view.h"

#include <gtest/gtest.h>

#include "plan/made_up_host.h"

namespace cordon {
namespace {

using namespace testing;  // the made-up host

class PlanView : public ::testing::Test {
 protected:
  [[nodiscard]] View at(std::string_view path) const {
    const auto plan = make_native_plan(*clamp(request_, {}), facts_, made_up_user(), asked_);
    EXPECT_TRUE(plan) << plan.error().what;
    return view_of(*plan, path);
  }

  Resolved request_ = resolved_preset("workspace");
  HostFacts facts_ = made_up_facts();
  PlanRequest asked_ = made_up_request();
};

TEST_F(PlanView, TheLastMountDecides) {
  facts_.masked = {{"/home/alex/project/keys", FileKind::Directory, {64, 7}, "deny 'keys'"}};
  facts_.held = {{"/home/alex/project/.vscode", HoldKind::Editor, FileKind::Directory, {64, 8}}};
  const View project = at("/home/alex/project/main.c");
  EXPECT_EQ(project.shown, Shown::Host);
  EXPECT_TRUE(project.writable && project.may_write && project.may_execute);
  EXPECT_EQ(project.place, "/home/alex/project");
  const View key = at("/home/alex/project/keys/one");
  EXPECT_EQ(key.shown, Shown::Masked);
  EXPECT_EQ(key.reason, "deny 'keys'");
  const View held = at("/home/alex/project/.vscode/tasks.json");
  EXPECT_EQ(held.shown, Shown::Host);
  EXPECT_FALSE(held.writable);
  asked_.private_copies = true;
  asked_.private_directory = "/home/alex/.local/state/cordon/private/0123456789abcdef";
  EXPECT_EQ(at("/home/alex/project/.vscode/tasks.json").shown, Shown::Copy);
}

TEST_F(PlanView, WhatTheSandboxHasOfItsOwn) {
  EXPECT_EQ(at("/").shown, Shown::Made);
  EXPECT_EQ(at("/etc/passwd").shown, Shown::Made);
  EXPECT_EQ(at("/etc/fstab").shown, Shown::Nothing);
  EXPECT_EQ(at("/tmp/x").shown, Shown::Private);
  EXPECT_TRUE(at("/home/alex/.gitconfig").there);
  EXPECT_FALSE(at("/home/alex/.bashrc").there);
  EXPECT_EQ(at("/proc/self/status").shown, Shown::Process);
  EXPECT_EQ(at("/proc/kcore").shown, Shown::Masked);
  EXPECT_EQ(at("/dev/null").shown, Shown::Device);
  EXPECT_EQ(at("/dev/sda").shown, Shown::Nothing);
  EXPECT_EQ(at("/srv").shown, Shown::Nothing);
}

TEST_F(PlanView, SystemFilesAreReadAndExecutedAndNotWritten) {
  const View program = at("/usr/bin/env");
  EXPECT_EQ(program.shown, Shown::Host);
  EXPECT_TRUE(program.may_read && program.may_execute);
  EXPECT_FALSE(program.writable);
  EXPECT_FALSE(at("/etc/ssl/certs/x").may_execute);
}

TEST_F(PlanView, AStageIsNoHost) {
  asked_.stage_directory = "/home/alex/.local/state/cordon/stages/0123456789abcdef";
  const View staged = at("/home/alex/project/main.c");
  EXPECT_EQ(staged.shown, Shown::Staged);
  EXPECT_TRUE(staged.writable);
}

TEST_F(PlanView, AFrozenDirectoryShowsItsEntriesAndNothingNew) {
  request_.read.push_back(made_up_grant("/srv/data", 200));
  facts_.frozen = {{"/srv/data", {64, 200}, {{"old", FileKind::Regular, {64, 201}, {}}}}};
  EXPECT_EQ(at("/srv/data").shown, Shown::Made);
  EXPECT_EQ(at("/srv/data/old").shown, Shown::Host);
  EXPECT_EQ(at("/srv/data/new").shown, Shown::Nothing);
}

}  // namespace
}  // namespace cordon
