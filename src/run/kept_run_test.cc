#include "host/kept_files.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "base/path.h"
#include "host/post_run_tree.h"
#include "plan/keeping_plan.h"
#include "run/recovery.h"
#include "run/run_note.h"

namespace cordon::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A run whose mechanism holds nothing: begin(), change the tree, finish().
class Kept : public PostRunTree {
 protected:
  Keeping surveyed_keeping() {
    clamped_.emplace(clamped(writable({"@cwd"}), caller_));
    const Survey found = surveyed(*clamped_, caller_);
    before_ = found.snapshot;
    before_.protected_objects = {};
    return keeping_for(clamped_->effective(), found.facts);
  }
  Result<void> begin(std::vector<OtherRun> others = {}) {
    auto made = KeptFiles::keep(directory("run-1"), surveyed_keeping(), others);
    if (!made) return fail(std::move(made).error());
    kept_.emplace(std::move(*made));
    return {};
  }
  Result<std::vector<Quarantined>> try_to_finish() {
    auto found = post_run_scan(clamped_->effective().write, {}, caller_, before_,
                               caller_.state_directory + "/handoff", "run-1", &*kept_);
    if (found) kept_->discard();
    return found;
  }
  std::vector<Quarantined> finish() {
    auto found = try_to_finish();
    EXPECT_TRUE(found.has_value()) << (found ? "" : message(found.error()));
    return found ? *found : std::vector<Quarantined>{};
  }
  [[nodiscard]] std::string directory(const std::string& run) const {
    return caller_.state_directory + "/kept/" + run;
  }
  std::string content(std::string_view path) const { return TestTree::read_path(in(path)); }
  void repository() {
    git(caller_.cwd, "init -q .");
    file(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n");
    ::chmod(in(".git/hooks/pre-commit").c_str(), 0755);
    config_ = content(".git/config");
  }

  std::optional<KeptFiles> kept_;
  std::string config_;
};

auto put_back(const std::string& path) {
  return ::testing::AllOf(Field(&Quarantined::path, path), Field(&Quarantined::restored, true));
}

TEST_F(Kept, AnUntouchedTreeIsLeftAlone) {
  repository();
  file(".mcp.json", "{}");
  ASSERT_TRUE(begin());
  EXPECT_THAT(finish(), IsEmpty());
  EXPECT_EQ(content(".git/config"), config_);
  EXPECT_FALSE(std::filesystem::exists(directory("run-1")));
}

TEST_F(Kept, ContentModeAndTimeComeBackAndTheChangedOneIsHandedOff) {
  file(".mcp.json", "{}");
  const timeval times[2] = {{1000, 0}, {2000, 0}};
  ::chmod(in(".mcp.json").c_str(), 0640);
  ::utimes(in(".mcp.json").c_str(), times);
  ASSERT_TRUE(begin());
  file(".mcp.json", "evil");
  ::chmod(in(".mcp.json").c_str(), 0777);
  const auto handoff = finish();
  ASSERT_THAT(handoff, ElementsAre(put_back(".mcp.json")));
  EXPECT_EQ(TestTree::read_path(handoff.front().moved_to), "evil");
  EXPECT_EQ(content(".mcp.json"), "{}");
  struct stat status {};
  ASSERT_EQ(::stat(in(".mcp.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0640U);
  EXPECT_EQ(status.st_mtime, 2000);
}

TEST_F(Kept, WhateverStandsInItsPlaceGoes) {
  for (const std::string form : {"link", "directory", "gone", "closed", "fifo", "large"}) {
    file(".mcp.json", "{}");
    ASSERT_TRUE(begin());
    const std::string path = in(".mcp.json");
    if (form != "closed") std::filesystem::remove(path);
    if (form == "link") link(".mcp.json", "/etc/hostname");
    if (form == "directory") file(".mcp.json/inner", "x");
    if (form == "closed") {
      file(".mcp.json", "evil");
      ::chmod(path.c_str(), 0);
    }
    if (form == "fifo") {
      ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    }
    if (form == "large") {
      file(".mcp.json", "");
      ASSERT_EQ(::truncate(path.c_str(), off_t{1} << 40), 0);
    }
    EXPECT_THAT(finish(), ElementsAre(put_back(".mcp.json"))) << form;
    EXPECT_EQ(content(".mcp.json"), "{}") << form;
    std::filesystem::remove_all(caller_.state_directory + "/handoff");
  }
}

TEST_F(Kept, ADirectoryIsAsItWas) {
  file(".vscode/settings.json", "{}");
  file(".vscode/deep/tasks.json", "[]");
  link(".vscode/link", "settings.json");
  ASSERT_TRUE(begin());
  file(".vscode/settings.json", "evil");
  file(".vscode/new.json", "evil");
  std::filesystem::remove_all(in(".vscode/deep"));
  std::filesystem::remove(in(".vscode/link"));
  link(".vscode/link", "new.json");
  const auto handoff = finish();
  EXPECT_THAT(paths_of(handoff), ElementsAre(".vscode/deep", ".vscode/link", ".vscode/new.json",
                                             ".vscode/settings.json"));
  EXPECT_EQ(content(".vscode/settings.json"), "{}");
  EXPECT_EQ(content(".vscode/deep/tasks.json"), "[]");
  EXPECT_EQ(std::filesystem::read_symlink(in(".vscode/link")), "settings.json");
  EXPECT_FALSE(exists(".vscode/new.json"));
}

TEST_F(Kept, GitsConfigurationAndHooksComeBack) {
  repository();
  ASSERT_TRUE(begin());
  git(caller_.cwd, "config core.fsmonitor ./evil");
  file(".git/hooks/pre-commit", "evil");
  file(".git/hooks/post-commit", "evil");
  const auto handoff = finish();
  EXPECT_THAT(paths_of(handoff),
              ElementsAre(".git/config", ".git/hooks/post-commit", ".git/hooks/pre-commit"));
  EXPECT_EQ(content(".git/config"), config_);
  EXPECT_EQ(content(".git/hooks/pre-commit"), "#!/bin/sh\nexit 0\n");
  EXPECT_FALSE(exists(".git/hooks/post-commit"));
}

TEST_F(Kept, AHarmlessNewerConfigurationStaysAndTheOriginalIsNamed) {
  repository();
  ASSERT_TRUE(begin());
  git(caller_.cwd, "remote add origin https://example.com/a.git");
  const auto handoff = finish();
  ASSERT_EQ(handoff.size(), 1U);
  EXPECT_FALSE(handoff.front().restored);
  EXPECT_EQ(handoff.front().moved_to, "");
  EXPECT_EQ(TestTree::read_path(handoff.front().original), config_);
  EXPECT_THAT(content(".git/config"), HasSubstr("example.com"));
}

TEST_F(Kept, ARepositoryThatWasExchangedComesBack) {
  repository();
  ASSERT_TRUE(begin());
  std::filesystem::rename(in(".git"), in("elsewhere"));
  file("elsewhere/config", "[core]\n\tfsmonitor = evil\n");
  git(caller_.cwd, "init -q .");
  file(".git/hooks/pre-commit", "evil");
  const auto handoff = finish();
  EXPECT_THAT(handoff, Contains(put_back(".git")));
  EXPECT_THAT(handoff, Contains(put_back(".git/config")));
  EXPECT_EQ(content(".git/config"), config_);
  EXPECT_EQ(content(".git/hooks/pre-commit"), "#!/bin/sh\nexit 0\n");
  EXPECT_FALSE(exists("elsewhere"));
}

TEST_F(Kept, ARepositoryInsideWhatTookItsPlaceComesBack) {
  repository();
  ASSERT_TRUE(begin());
  std::filesystem::rename(in(".git"), in("x"));
  std::filesystem::create_directory(in(".git"));
  std::filesystem::rename(in("x"), in(".git/x"));
  EXPECT_THAT(finish(), Contains(put_back(".git")));
  EXPECT_EQ(content(".git/config"), config_);
  EXPECT_TRUE(exists(".git/HEAD"));
}

TEST_F(Kept, WhatIsProtectedInADeletedRepositoryComesBack) {
  repository();
  ASSERT_TRUE(begin());
  std::filesystem::remove_all(in(".git"));
  file(".git", "gitdir: /tmp/evil\n");
  EXPECT_THAT(finish(), Contains(put_back(".git")));
  EXPECT_EQ(content(".git/config"), config_);
}

TEST_F(Kept, AMovedDirectoryDoesNotCarryAChangedFileAway) {
  file("sub/.vscode/settings.json", "{}");
  ASSERT_TRUE(begin());
  file("sub/.vscode/settings.json", "evil");
  std::filesystem::rename(in("sub"), in("other"));
  const auto handoff = finish();
  EXPECT_EQ(content("sub/.vscode/settings.json"), "{}");
  EXPECT_FALSE(exists("other/.vscode"));
}

TEST_F(Kept, ALinkAboveDoesNotLeadThePutBackElsewhere) {
  file("sub/.mcp.json", "{}");
  tree_.directory("home/outside");
  ASSERT_TRUE(begin());
  std::filesystem::remove_all(in("sub"));
  link("sub", tree_.at("home/outside"));
  EXPECT_THAT(finish(), Contains(put_back("sub")));
  EXPECT_EQ(content("sub/.mcp.json"), "{}");
  EXPECT_FALSE(tree_.exists("home/outside/.mcp.json"));
}

TEST_F(Kept, AnotherNameMadeByTheRunIsCutOff) {
  file(".mcp.json", "{}");
  ASSERT_TRUE(begin());
  std::filesystem::create_hard_link(in(".mcp.json"), in("alias"));
  file("alias", "evil");
  EXPECT_THAT(finish(), ElementsAre(put_back(".mcp.json")));
  EXPECT_EQ(content(".mcp.json"), "{}");
  EXPECT_EQ(content("alias"), "evil");
  // The same content behind two names is parted as well: the next change would reach both.
  ASSERT_TRUE(begin());
  std::filesystem::remove(in("alias"));
  std::filesystem::create_hard_link(in(".mcp.json"), in("alias"));
  finish();
  EXPECT_EQ(std::filesystem::hard_link_count(in(".mcp.json")), 1U);
}

TEST_F(Kept, AFileWithANameOutsideIsRefused) {
  file(".mcp.json", "{}");
  std::filesystem::create_hard_link(in(".mcp.json"), tree_.at("home/elsewhere"));
  const auto begun = begin();
  ASSERT_FALSE(begun);
  EXPECT_THAT(message(begun.error()), HasSubstr("one file with another"));
  EXPECT_FALSE(std::filesystem::exists(directory("run-1")));
  std::filesystem::remove(tree_.at("home/elsewhere"));
  EXPECT_TRUE(begin());
}

TEST_F(Kept, WhatIsTooMuchIsRefused) {
  file(".vscode/large", "");
  ASSERT_EQ(::truncate(in(".vscode/large").c_str(), off_t{300} << 20), 0);
  const auto begun = begin();
  ASSERT_FALSE(begun);
  EXPECT_THAT(message(begun.error()), HasSubstr("larger than"));
  ASSERT_EQ(::truncate(in(".vscode/large").c_str(), off_t{1} << 20), 0);
  EXPECT_TRUE(begin());
}

// The second of two runs must not take for the original what the first has changed.
TEST_F(Kept, WhatAnotherRunKeptIsTheOriginal) {
  file(".mcp.json", "{}");
  const Keeping keeping = surveyed_keeping();
  auto first = KeptFiles::keep(directory("run-0"), keeping, {});
  ASSERT_TRUE(first.has_value());
  file(".mcp.json", "evil");
  file(".vscode/tasks.json", "evil");  // it was not there when the first began
  const OtherRun other{directory("run-0"), {caller_.cwd}, {}};
  ASSERT_TRUE(begin({other}));
  first->discard();
  finish();
  EXPECT_EQ(content(".mcp.json"), "{}");
  EXPECT_FALSE(exists(".vscode"));
}

TEST_F(Kept, WhatAppearedDuringAnotherRunIsNotMadeAnew) {
  surveyed_keeping();
  file(".mcp.json", "evil");
  ASSERT_TRUE(begin({OtherRun{{}, {caller_.cwd}, {}}}));
  std::filesystem::remove(in(".mcp.json"));  // the other one took it away
  EXPECT_THAT(finish(), IsEmpty());
  EXPECT_FALSE(exists(".mcp.json"));
}

// Killed while it was kept, or while it was removed: the note does not know these files and must
// not be used to judge them.
TEST_F(Kept, WithoutAListNothingIsJudged) {
  const std::string path = file(".mcp.json", "{}");
  ASSERT_TRUE(begin());
  EXPECT_TRUE(kept_->is_needed());
  std::filesystem::remove(directory("run-1") + "/list");
  EXPECT_FALSE(kept_->is_needed());
  EXPECT_FALSE(try_to_finish());
  EXPECT_EQ(TestTree::read_path(path), "{}");
  kept_->discard();
  EXPECT_FALSE(kept_->is_needed());

  NoteContent note;
  note.run_id = "run-2";
  note.kept_directory = directory("run-2");
  note.writable = clamped_->effective().write;
  {
    auto written = RunNote::write(caller_, note);
    ASSERT_TRUE(written.has_value());
    written->leave();
  }
  EXPECT_THAT(recover_runs(caller_), IsEmpty());
  EXPECT_EQ(TestTree::read_path(path), "{}");
  EXPECT_TRUE(std::filesystem::is_empty(caller_.state_directory + "/runs"));
}

TEST_F(Kept, AnUnreadableListIsAnErrorAndKeepsEverything) {
  file(".mcp.json", "{}");
  ASSERT_TRUE(begin());
  std::ofstream(directory("run-1") + "/list") << "rubbish";
  EXPECT_FALSE(try_to_finish());
  EXPECT_TRUE(std::filesystem::exists(directory("run-1")));
}

}  // namespace
}  // namespace cordon::testing
