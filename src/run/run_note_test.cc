#include "run/run_note.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/test_tree.h"

namespace cordon {
namespace {

using testing::clamped;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::surveyed;
using testing::TestTree;
using testing::writable;

// Leaves a note whose writer is dead.
void write_and_die(const Caller& caller, const NoteContent& content) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const Result<RunNote> note = RunNote::write(caller, content);
    ::_exit(note ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ASSERT_EQ(status, 0);
}

TEST(RunNote, IsKeptWhileItsFilesCannotBeTakenAway) {
  const TestTree tree;
  const Caller caller = tree.caller();
  const Clamped policy = clamped(writable({"@cwd"}), caller);
  NoteContent content;
  content.run_id = std::string(240, 'r');  // the name beside the file would be too long
  content.writable = policy.effective().write;
  content.snapshot = surveyed(policy, caller).snapshot;
  write_and_die(caller, content);
  const std::string note = "home/.local/state/cordon/runs/" + content.run_id;
  ASSERT_TRUE(tree.exists(note));
  tree.file("home/project/.mcp.json", "evil");
  // No way into the handoff directory either.
  tree.link("home/.local/state/cordon/handoff", tree.directory("elsewhere"));

  for (int start = 0; start < 2; ++start) {
    const std::vector<Handoff> told = recover_runs(caller);
    ASSERT_EQ(told.size(), 1U);
    EXPECT_THAT(told[0].kind, HasSubstr("unchecked"));
    EXPECT_EQ(told[0].path, caller.cwd);
    EXPECT_TRUE(tree.exists(note));
    EXPECT_TRUE(tree.exists("home/project/.mcp.json"));
  }

  ASSERT_EQ(::unlink(tree.at("home/.local/state/cordon/handoff").c_str()), 0);
  const std::vector<Handoff> moved = recover_runs(caller);
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
  write_and_die(caller, content);
  const std::vector<OlderRun> runs = older_runs(caller, policy.effective());
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].snapshot.loose_objects, content.snapshot.loose_objects);
  EXPECT_EQ(runs[0].snapshot.unmade, content.snapshot.unmade);
  EXPECT_EQ(runs[0].snapshot.began_ns, content.snapshot.began_ns);
  EXPECT_THAT(recover_runs(caller), IsEmpty());
  EXPECT_FALSE(tree.exists("home/.local/state/cordon/runs/1"));
}

TEST(RunNote, ThatCannotBeReadIsKeptAndNamed) {
  const TestTree tree;
  const Caller caller = tree.caller();
  tree.file("home/.local/state/cordon/runs/1", "{\"run_id\": ");
  const std::vector<Handoff> told = recover_runs(caller);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0].kind, HasSubstr("cannot be read"));
  EXPECT_TRUE(tree.exists("home/.local/state/cordon/runs/1"));
}

TEST(RunNote, IsTriedTwiceIfThatEndsCordon) {
  const TestTree tree;
  const Caller caller = tree.caller();
  NoteContent content;
  content.run_id = "1";
  write_and_die(caller, content);
  const std::string runs = tree.at("home/.local/state/cordon/runs/");
  ASSERT_EQ(::rename((runs + "1").c_str(), (runs + "1~2").c_str()), 0);
  const std::vector<Handoff> told = recover_runs(caller);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0].kind, HasSubstr("cut off twice"));
  ASSERT_EQ(::rename((runs + "1~2").c_str(), (runs + "1~1").c_str()), 0);
  EXPECT_THAT(recover_runs(caller), IsEmpty());
  EXPECT_FALSE(tree.exists("home/.local/state/cordon/runs/1~1"));
}

}  // namespace
}  // namespace cordon
