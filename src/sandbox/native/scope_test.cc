#include "sandbox/native/confine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "host/test_tree.h"
#include "sandbox/native/build.h"

namespace cordon::native {
namespace {

// What `act` answers in a child of its own; a restriction cannot be taken back.
int in_child(int (*act)()) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(act());
  int status = 0;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

// Never kill(-1) here: were the scope broken, it would end the machine's other processes.
TEST(Scope, ReachesWhatDescendsAndNobodyElse) {
  EXPECT_EQ(in_child([] {
              if (::kill(::getppid(), 0) != 0) return 1;
              if (scope_processes() != 0) return 2;
              if (::kill(::getppid(), 0) == 0 || errno != EPERM) return 3;
              const pid_t child = ::fork();
              if (child == 0) {
                ::pause();
                ::_exit(0);
              }
              if (::kill(child, SIGKILL) != 0) return 4;
              int status = 0;
              return ::waitpid(child, &status, 0) == child && WIFSIGNALED(status) ? 0 : 5;
            }),
            0);
}

TEST(Scope, CannotBeReachedByAnInnerOne) {
  EXPECT_EQ(in_child([] {
              if (scope_processes() != 0) return 1;
              return in_child([] {
                if (scope_processes() != 0) return 2;
                return ::kill(::getppid(), 0) != 0 && errno == EPERM ? 0 : 3;
              });
            }),
            0);
}

TEST(Scope, AdoptsOrphans) {
  EXPECT_EQ(in_child([] {
              if (scope_processes() != 0) return 1;
              const pid_t parent = ::fork();
              if (parent == 0) {
                const pid_t before = ::getpid();
                if (::fork() == 0) {
                  for (int i = 0; i < 60'000 && ::getppid() == before; ++i) ::usleep(1000);
                  ::_exit(::getppid() == before ? 8 : 7);
                }
                ::_exit(0);
              }
              int status = 0;
              if (::waitpid(parent, &status, 0) != parent) return 2;
              return ::waitpid(-1, &status, 0) > 0 && WEXITSTATUS(status) == 7 ? 0 : 3;
            }),
            0);
}

TEST(LandlockRule, IsForTheObjectThatWasJudged) {
  const testing::TestTree tree;
  const std::string path = tree.directory("granted");
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  const FileId id{status.st_dev, status.st_ino};
  const Prepared prepared;
  BuildState state;
  const auto rule = [&](const std::string& to, FileId judged, bool optional = false) {
    return carry_out(
        op::LandlockAllow{to, LandlockUse::ReadWrite, FileKind::Directory, judged, optional},
        prepared, state);
  };
  EXPECT_EQ(rule(path, id), 0);
  EXPECT_EQ(rule(path, {id.device, id.inode + 1}), -ESTALE);
  // A symlink in its place is not followed, even to the same object.
  tree.link("alias", path);
  EXPECT_EQ(rule(tree.at("alias"), id), -ELOOP);
  EXPECT_EQ(rule(tree.at("gone"), id), -ESTALE);
  EXPECT_EQ(rule(tree.at("gone"), {}), -ENOENT);
  EXPECT_EQ(rule(tree.at("gone"), {}, true), 0);
  ::close(state.ruleset);
}

}  // namespace
}  // namespace cordon::native
