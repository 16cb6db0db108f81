#include "faces/mcp/full/snapshots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon::mcp {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::ElementsAre;

std::shared_ptr<const std::string> text(std::string content) {
  return std::make_shared<const std::string>(std::move(content));
}

std::shared_ptr<Snapshot> snapshot(std::string id, steady_clock::time_point taken = {}) {
  auto made = std::make_shared<Snapshot>();
  made->id = std::move(id);
  made->taken = taken;
  return made;
}

std::vector<std::string> lines(const std::vector<FileChange>& changes) {
  std::vector<std::string> out;
  out.reserve(changes.size());
  for (const FileChange& change : changes) out.push_back(change_line(change));
  return out;
}

TEST(Snapshots, FindsTheLatestBeforeATime) {
  const steady_clock::time_point begin{};
  Snapshots snapshots;
  EXPECT_EQ(snapshots.before(begin + seconds(9)), nullptr);
  for (int i = 1; i <= 6; ++i) snapshots.keep(snapshot(std::to_string(i), begin + seconds(i)));
  EXPECT_EQ(snapshots.before(begin), nullptr);
  EXPECT_EQ(snapshots.before(begin + seconds(4))->id, "4");
  EXPECT_EQ(snapshots.before(begin + seconds(99))->id, "6");
  // What was forgotten is stood in for by the start.
  EXPECT_EQ(snapshots.before(begin + seconds(2))->id, "1");
}

TEST(Snapshots, KeepsATextThatDidNotChangeOnce) {
  Snapshots snapshots;
  const auto first = snapshot("1");
  first->files["f"] = {"v", text("same")};
  const auto second = snapshot("2");
  second->files["f"] = {"v", text("same")};
  snapshots.keep(first);
  snapshots.keep(second);
  EXPECT_EQ(snapshots.find("2")->files.at("f").text, first->files.at("f").text);
}

TEST(ChangesBetween, AreOfOnePartIfThatIsAsked) {
  const auto before = snapshot("1");
  const auto after = snapshot("2");
  before->files = {{"a/x", {"1", {}}}, {"ab/x", {"1", {}}}, {"b", {"1", {}}}};
  after->files = {{"a/x", {"2", {}}}, {"ab/x", {"2", {}}}, {"c", {"1", {}}}};
  EXPECT_THAT(lines(changes_between(*before, *after, "")),
              ElementsAre("changed a/x", "changed ab/x", "deleted b", "created c"));
  EXPECT_THAT(lines(changes_between(*before, *after, "a")), ElementsAre("changed a/x"));
  EXPECT_THAT(lines(changes_between(*before, *after, "b")), ElementsAre("deleted b"));
}

TEST(ChangePatch, ShowsLines) {
  using Kind = FileChange::Kind;
  EXPECT_EQ(change_patch({Kind::Changed, "f", text("a\nb\n"), text("a\nc\n")}),
            "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
  EXPECT_EQ(change_patch({Kind::Created, "f", nullptr, text("a\n")}),
            "--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n");
  EXPECT_EQ(change_patch({Kind::Deleted, "f", text("a\n"), nullptr}),
            "--- a/f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n");
  EXPECT_THAT(change_patch({Kind::Changed, "f", nullptr, text("a\n")}),
              ::testing::StartsWith("changed f (no patch"));
  EXPECT_EQ(change_patch({Kind::Changed, "f", text("a"), text("a")}),
            "changed f (the same text)\n");
  EXPECT_EQ(change_patch({Kind::Created, "f\n+++ b/g", nullptr, text("\x1b[2J\n")}).find('\x1b'),
            std::string::npos);
}

}  // namespace
}  // namespace cordon::mcp
