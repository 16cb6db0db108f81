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

}  // namespace
}  // namespace cordon
