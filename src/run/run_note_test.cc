#include "run/run_note.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "host/test_tree.h"
#include "run/recovery.h"

namespace cordon {
namespace {

using testing::clamped;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::surveyed;
using testing::TestTree;
using testing::writable;

// Leaves a note whose writer is dead; the sandbox that it started is dead too, or still there.
enum class Sandbox { Gone, Lives };
pid_t write_and_die(const Caller& caller, const NoteContent& content, Sandbox sandbox) {
  int told[2];
  EXPECT_EQ(::pipe(told), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    Result<RunNote> note = RunNote::write(caller, content);
    if (!note) ::_exit(1);
    int closed[2];
    if (::pipe(closed) != 0) ::_exit(1);
    const pid_t first = ::fork();
    if (first == 0) {
      // As every first process does: the lock of the note is its writer's alone.
      for (int fd = 3; fd < 256; ++fd)
        if (fd != closed[1]) ::close(fd);
      if (::write(closed[1], "", 1) != 1) ::_exit(1);
      ::pause();
      ::_exit(0);
    }
    char byte = 0;
    if (::read(closed[0], &byte, 1) != 1) ::_exit(1);
    note->started(first);
    if (sandbox == Sandbox::Gone) {
      ::kill(first, SIGKILL);
      ::waitpid(first, nullptr, 0);
    }
    ::_exit(::write(told[1], &first, sizeof first) == sizeof first ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  pid_t first = 0;
  EXPECT_EQ(::read(told[0], &first, sizeof first), static_cast<ssize_t>(sizeof first));
  ::close(told[0]);
  ::close(told[1]);
  return first;
}

TEST(RunNote, IsDealtWithWhenTheLastProcessIsGone) {
  const TestTree tree;
  const Caller caller = tree.caller();
  const Clamped policy = clamped(writable({"@cwd"}), caller);
  NoteContent content;
  content.run_id = "0123456789abcdef";
  content.writable = policy.effective().write;
  content.snapshot = surveyed(policy, caller).snapshot;
  const pid_t first = write_and_die(caller, content, Sandbox::Lives);
  tree.file("home/project/.mcp.json", "evil");
  EXPECT_THAT(recover_runs(caller), IsEmpty());
  EXPECT_TRUE(tree.exists("home/project/.mcp.json")) << "it could be written again";
  ASSERT_EQ(::kill(first, SIGKILL), 0);
  EXPECT_EQ(recover_runs(caller).size(), 1U);
  EXPECT_FALSE(tree.exists("home/project/.mcp.json"));
  EXPECT_FALSE(tree.exists("home/.local/state/cordon/runs/" + content.run_id));
}

TEST(RunNote, OfARunThatWasKilledWhileItStartedIsLeftForAMoment) {
  const TestTree tree;
  const Caller caller = tree.caller();
  NoteContent content;
  content.run_id = "0123456789abcdef";
  const pid_t pid = ::fork();
  if (pid == 0) {
    const Result<RunNote> note = RunNote::write(caller, content);
    ::_exit(note ? 0 : 1);
  }
  ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
  const std::string note = "home/.local/state/cordon/runs/" + content.run_id;
  (void)recover_runs(caller);
  EXPECT_TRUE(tree.exists(note));
  const timespec past[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, tree.at(note).c_str(), past, 0), 0);
  (void)recover_runs(caller);
  EXPECT_FALSE(tree.exists(note));
}

TEST(RunNote, IsKeptWhileItsFilesCannotBeTakenAway) {
  const TestTree tree;
  const Caller caller = tree.caller();
  const Clamped policy = clamped(writable({"@cwd"}), caller);
  NoteContent content;
  content.run_id = std::string(240, 'r');  // the name beside the file would be too long
  content.writable = policy.effective().write;
  content.snapshot = surveyed(policy, caller).snapshot;
  write_and_die(caller, content, Sandbox::Gone);
  const std::string note = "home/.local/state/cordon/runs/" + content.run_id;
  ASSERT_TRUE(tree.exists(note));
  tree.file("home/project/.mcp.json", "evil");
  // No way into the handoff directory either.
  tree.link("home/.local/state/cordon/handoff", tree.directory("elsewhere"));

  for (int start = 0; start < 2; ++start) {
    const std::vector<Quarantined> told = recover_runs(caller);
    ASSERT_EQ(told.size(), 1U);
    EXPECT_THAT(told[0].kind, HasSubstr("unchecked"));
    EXPECT_EQ(told[0].path, caller.cwd);
    EXPECT_TRUE(tree.exists(note));
    EXPECT_TRUE(tree.exists("home/project/.mcp.json"));
  }

  ASSERT_EQ(::unlink(tree.at("home/.local/state/cordon/handoff").c_str()), 0);
  const std::vector<Quarantined> moved = recover_runs(caller);
  ASSERT_EQ(moved.size(), 1U);
  EXPECT_EQ(moved[0].kind, "agent");
  EXPECT_FALSE(tree.exists("home/project/.mcp.json"));
  EXPECT_FALSE(tree.exists(note));
  EXPECT_THAT(recover_runs(caller), IsEmpty());
}

// A JSON document of Cordon's may have 1 MiB; a note has a line for each object.
TEST(RunNote, IsReadWhateverItsSizeAndItsBytes) {
  const TestTree tree;
  const Caller caller = tree.caller();
  const Clamped policy = clamped(writable({"@cwd"}), caller);
  NoteContent content;
  content.run_id = "1";
  content.writable = policy.effective().write;
  content.snapshot = surveyed(policy, caller).snapshot;
  constexpr std::uint64_t kMany = 60'000;
  for (std::uint64_t i = 0; i < kMany; ++i)
    content.snapshot.loose_objects[{1'000'000 + i, i}] = {FileKind::Regular, 1};
  content.snapshot.unmade = {"/not \xff utf-8 % \n"};
  content.roots.push_back({"/a%20b", {7, 8}, 9, nullptr});
  write_and_die(caller, content, Sandbox::Gone);
  const std::vector<OlderRun> runs = older_runs(caller, policy.effective());
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].snapshot.loose_objects, content.snapshot.loose_objects);
  EXPECT_EQ(runs[0].snapshot.unmade, content.snapshot.unmade);
  EXPECT_EQ(runs[0].snapshot.began_ns, content.snapshot.began_ns);
  EXPECT_THAT(recover_runs(caller), IsEmpty());
  EXPECT_FALSE(tree.exists("home/.local/state/cordon/runs/1"));
}

// With mounts a run may keep a single file as well. It stays one whose beginning counts: otherwise
// a younger run would take what the older one planted for what was there.
TEST(RunNote, AnOlderRunCountsIfMountsHold) {
  const TestTree tree;
  const Caller caller = tree.caller();
  const Clamped policy = clamped(writable({"@cwd"}), caller);
  NoteContent content;
  content.run_id = "1";
  content.writable = policy.effective().write;
  content.kept_directory = kept_directories(caller) + "/1";
  write_and_die(caller, content, Sandbox::Gone);
  EXPECT_EQ(older_runs(caller, policy.effective()).size(), 1U);
  content.run_id = "2";
  content.holds_by_mounts = false;
  write_and_die(caller, content, Sandbox::Gone);
  EXPECT_EQ(older_runs(caller, policy.effective()).size(), 1U);
}

TEST(RunNote, ThatCannotBeReadIsKeptAndNamed) {
  const TestTree tree;
  const Caller caller = tree.caller();
  tree.file("home/.local/state/cordon/runs/1", "{\"run_id\": ");
  const std::vector<Quarantined> told = recover_runs(caller);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0].kind, HasSubstr("cannot be read"));
  EXPECT_TRUE(tree.exists("home/.local/state/cordon/runs/1"));
}

TEST(RunNote, IsTriedTwiceIfThatEndsCordon) {
  const TestTree tree;
  const Caller caller = tree.caller();
  NoteContent content;
  content.run_id = "1";
  write_and_die(caller, content, Sandbox::Gone);
  const std::string runs = tree.at("home/.local/state/cordon/runs/");
  ASSERT_EQ(::rename((runs + "1").c_str(), (runs + "1~2").c_str()), 0);
  const std::vector<Quarantined> told = recover_runs(caller);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0].kind, HasSubstr("cut off twice"));
  ASSERT_EQ(::rename((runs + "1~2").c_str(), (runs + "1~1").c_str()), 0);
  EXPECT_THAT(recover_runs(caller), IsEmpty());
  EXPECT_FALSE(tree.exists("home/.local/state/cordon/runs/1~1"));
}

}  // namespace
}  // namespace cordon
