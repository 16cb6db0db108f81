#include "host/known_directories.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "base/path.h"
#include "host/post_run_tree.h"
#include "host/test_tree.h"
#include "host/walk.h"

namespace cordon {
namespace {

using testing::clamped;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::paths_of;
using testing::surveyed;
using testing::TestTree;
using testing::writable;

struct Walked {
  std::vector<std::string> visited;
  std::vector<std::string> shown;
};

// A file matters if its name begins with '!'.
class Marked final : public TreeVisitor {
 public:
  void visit(WalkedDirectory& directory) override {
    walked.visited.push_back(directory.path());
    for (const DirectoryEntry& entry : directory.entries()) {
      if (entry.type == EntryType::Directory)
        directory.descend(entry, 0);
      else
        walked.shown.push_back(join(directory.path(), entry.name));
    }
  }
  bool knows_enough(const std::string& path, WalkedDirectory::State /*state*/) const override {
    return path != unsure;
  }
  bool matters(const DirectoryEntry& entry) const override {
    return entry.type != EntryType::Regular || entry.name.starts_with('!');
  }
  bool visits_all() const override { return all; }

  Walked walked;
  std::string unsure;
  bool all = false;
};

class KnownDirectoriesTest : public ::testing::Test {
 protected:
  // As many as are worth a file.
  KnownDirectoriesTest() {
    for (int i = 0; i < 70; ++i) tree_.file("p/filled/" + std::to_string(i) + "/plain");
    tree_.file("p/a/plain");
    tree_.file("p/b/!marked");
    tree_.file("p/b/plain");
    let_age();
  }

  // Change times are told apart by ticks of the clock.
  static void let_age() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

  std::shared_ptr<KnownDirectories> read(std::string_view rules = "rules") const {
    return KnownDirectories::read(tree_.at("state"), tree_.at("p"), sha256(rules));
  }
  Walked walk(KnownDirectories* known, bool all = false) const {
    Marked marked;
    marked.all = all;
    return walk_with(marked, known);
  }
  Walked walk_with(Marked& marked, KnownDirectories* known) const {
    const Fd root(::open(tree_.at("p").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_TRUE(walk_tree(root.get(), tree_.at("p"), 0, marked, known));
    return std::move(marked.walked);
  }
  // As a run does: a walk, and what it found written down.
  void walk_and_write() const {
    const auto known = read();
    walk(known.get());
    known->write();
  }
  [[nodiscard]] std::string file_of_state() const {
    for (const auto& one : std::filesystem::directory_iterator(tree_.at("state/directories")))
      return one.path().string();
    return {};
  }

  TestTree tree_;
};

TEST_F(KnownDirectoriesTest, ShowsWhatMatteredWhileNothingChanges) {
  walk_and_write();
  const Walked second = walk(read().get());
  EXPECT_THAT(second.shown, ElementsAre(tree_.at("p/b/!marked")));
  EXPECT_THAT(second.visited, ::testing::UnorderedElementsAre(tree_.at("p"), tree_.at("p/b"),
                                                              tree_.at("p/filled")));
}

TEST_F(KnownDirectoriesTest, VisitsAllWhereTheVisitorAsksForIt) {
  walk_and_write();
  const Walked second = walk(read().get(), true);
  EXPECT_EQ(second.visited.size(), 74U);
  EXPECT_THAT(second.shown, ElementsAre(tree_.at("p/b/!marked")));
}

TEST_F(KnownDirectoriesTest, ReadsWhereTheVisitorIsNotSure) {
  walk_and_write();
  Marked second;
  second.unsure = tree_.at("p/a");
  EXPECT_THAT(walk_with(second, read().get()).shown, Contains(tree_.at("p/a/plain")));
}

TEST_F(KnownDirectoriesTest, SeesANewNameWhateverTimesAreSetBack) {
  walk_and_write();
  struct stat before {};
  ASSERT_EQ(::stat(tree_.at("p/a").c_str(), &before), 0);
  tree_.file("p/a/!planted");
  const std::array<timespec, 2> times{before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, tree_.at("p/a").c_str(), times.data(), 0), 0);
  EXPECT_THAT(walk(read().get()).shown, Contains(tree_.at("p/a/!planted")));
}

TEST_F(KnownDirectoriesTest, SeesAnotherDirectoryUnderAnOldName) {
  tree_.file("p/c/!hidden");
  let_age();
  walk_and_write();
  ASSERT_EQ(::renameat2(AT_FDCWD, tree_.at("p/a").c_str(), AT_FDCWD, tree_.at("p/c").c_str(),
                        RENAME_EXCHANGE),
            0);
  EXPECT_THAT(walk(read().get()).shown, Contains(tree_.at("p/a/!hidden")));
}

TEST_F(KnownDirectoriesTest, SeesADirectoryThatWasMadeAnew) {
  walk_and_write();
  std::filesystem::remove_all(tree_.at("p/a"));
  tree_.file("p/a/!planted");
  EXPECT_THAT(walk(read().get()).shown, Contains(tree_.at("p/a/!planted")));
}

TEST_F(KnownDirectoriesTest, SeesWhatAppearedBetweenTwoWalksOfOneRun) {
  const auto known = read();
  EXPECT_THAT(walk(known.get()).shown, Contains(tree_.at("p/a/plain")));
  EXPECT_THAT(walk(known.get()).shown, ElementsAre(tree_.at("p/b/!marked")));
  tree_.file("p/a/!planted");
  EXPECT_THAT(walk(known.get()).shown, Contains(tree_.at("p/a/!planted")));
}

TEST_F(KnownDirectoriesTest, KeepsNothingThatChangedAMomentAgo) {
  tree_.file("p/a/new");
  const auto known = read();
  walk(known.get());
  const Walked second = walk(known.get());
  EXPECT_THAT(second.shown, Contains(tree_.at("p/a/new")));
}

TEST(ChangeTimes, AreEarlierOnlyIfTheyClearlyAre) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  EXPECT_FALSE(is_surely_before(5 * kSecond + 1, 5 * kSecond + 1));
  EXPECT_FALSE(is_surely_before(5 * kSecond + 1, 5 * kSecond + 15'000'000));
  EXPECT_TRUE(is_surely_before(5 * kSecond + 1, 5 * kSecond + 25'000'000));
  // Of a file system that keeps seconds alone.
  EXPECT_FALSE(is_surely_before(5 * kSecond, 6 * kSecond + 900'000'000));
  EXPECT_TRUE(is_surely_before(5 * kSecond, 7 * kSecond + 1));
}

TEST_F(KnownDirectoriesTest, OtherRulesAndOtherTreesKnowNothing) {
  walk_and_write();
  EXPECT_FALSE(read()->empty());
  EXPECT_TRUE(read("others")->empty());
  EXPECT_TRUE(
      KnownDirectories::read(tree_.at("state"), tree_.at("q"), sha256(std::string_view("rules")))
          ->empty());
}

TEST_F(KnownDirectoriesTest, AFileThatCannotBeReliedOnIsNotRead) {
  walk_and_write();
  const std::string path = file_of_state();
  const std::string good = TestTree::read_path(path);
  ASSERT_FALSE(read()->empty());
  for (const std::size_t at : {std::size_t{25}, good.size() / 2, good.size() - 1}) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    std::ofstream(path, std::ios::binary) << bad;
    EXPECT_TRUE(read()->empty()) << at;
  }
  for (const std::size_t length : {std::size_t{0}, std::size_t{10}, good.size() / 2}) {
    std::ofstream(path, std::ios::binary) << good.substr(0, length);
    EXPECT_TRUE(read()->empty()) << length;
  }
  std::ofstream(path, std::ios::binary) << good;
  EXPECT_FALSE(read()->empty());
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_TRUE(read()->empty());
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  // Written when the clock was ahead of what it is now.
  std::string early = good.substr(0, good.size() - sizeof(Digest));
  constexpr std::size_t kAt = std::string_view("cordon directories 2\n").size();
  const std::int64_t later = change_clock() + 3'600'000'000'000;
  std::memcpy(early.data() + kAt, &later, sizeof later);
  const Digest digest = sha256(early);
  early.append(digest.begin(), digest.end());
  std::ofstream(path, std::ios::binary) << early;
  EXPECT_TRUE(read()->empty());
}

TEST_F(KnownDirectoriesTest, AFewTreesAreKept) {
  for (int i = 0; i < 20; ++i) {
    const auto known = KnownDirectories::read(tree_.at("state"), std::to_string(i), Digest{});
    walk(known.get());
    known->write();
  }
  const auto files = std::filesystem::directory_iterator(tree_.at("state/directories"));
  EXPECT_EQ(std::distance(begin(files), end(files)), 16);
}

// What is known changes nothing of what a survey finds: the same tree is changed again and again
// and looked at with it and without.
class KnownSurvey : public testing::PostRunTree {
 protected:
  static std::vector<std::string> sorted(std::vector<std::string> paths) {
    std::ranges::sort(paths);
    return paths;
  }
  static std::vector<std::string> found(const Survey& survey) {
    std::vector<std::string> all;
    const auto add = [&](const char* kind, const auto& entries) {
      for (const std::string& path : paths_of(entries)) all.push_back(kind + path);
    };
    add("held ", survey.facts.held);
    add("masked ", survey.facts.masked);
    add("closed ", survey.facts.closed);
    add("git ", survey.facts.git);
    for (const auto& [id, loose] : survey.snapshot.loose_objects)
      all.push_back("loose " + std::to_string(id.inode));
    for (const auto& [id, mark] : survey.snapshot.protected_objects.marks())
      all.push_back("object " + std::to_string(id.inode));
    return sorted(std::move(all));
  }
};

TEST_F(KnownSurvey, FindsWhatOneWithoutItFinds) {
  for (int i = 0; i < 70; ++i) file("filled/" + std::to_string(i) + "/plain");
  Policy policy = writable({"@cwd"});
  for (const char* deny : {"*.pem", "**/*.key", "filled/3/secret"})
    policy.fs.deny.push_back({deny, {}});
  const Clamped what = clamped(policy, caller_);
  Caller knows_nothing = caller_;
  knows_nothing.state_directory = tree_.at("home/.local/state/other");
  std::mt19937 random(20);
  const auto pick = [&](std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
  };
  const std::array<const char*, 12> names = {
      "plain", ".vscode/tasks.json", ".mcp.json", ".envrc",    "x.pem",  "conf/a.key",
      "HEAD",  "objects/x",          "refs/x",    ".git/HEAD", "secret", "Makefile"};
  std::size_t with_findings = 0;
  std::size_t known_once = 0;
  for (int round = 0; round < 60; ++round) {
    const std::string place = "filled/" + std::to_string(pick(8));
    const std::string other = "filled/" + std::to_string(8 + pick(8));
    switch (pick(5)) {
      case 0:
      case 1:
        file(place + "/" + names.at(pick(names.size())));
        break;
      case 2:
        std::filesystem::remove_all(in(place + "/" + names.at(pick(names.size()))));
        break;
      case 3:
        std::filesystem::create_directories(in(place));
        std::filesystem::create_directories(in(other));
        ASSERT_EQ(
            ::renameat2(AT_FDCWD, in(place).c_str(), AT_FDCWD, in(other).c_str(), RENAME_EXCHANGE),
            0);
        break;
      default:
        link(place + "/link" + std::to_string(round), "../plain");
        break;
    }
    // Some of the rounds see directories that are too young to be kept.
    if (pick(2) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(30));
    const Survey known = surveyed(what, caller_);
    const Survey cold = surveyed(what, knows_nothing);
    ASSERT_EQ(found(known), found(cold)) << "round " << round;
    with_findings += known.facts.held.empty() ? 0U : 1U;
    for (const SearchRoot& root : known.roots) {
      known_once += root.directories->empty() ? 0U : 1U;
      root.directories->write();
    }
  }
  EXPECT_GT(with_findings, 20U);
  EXPECT_GT(known_once, 20U);
}

// A deny that goes by the path says something else of a directory that was moved.
TEST_F(KnownSurvey, KeepsNothingBelowADenyThatGoesByThePath) {
  for (int i = 0; i < 70; ++i) file("filled/" + std::to_string(i) + "/x.key");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  Policy policy = writable({"@cwd"});
  policy.fs.deny.push_back({"filled/conf/*.key", {}});
  const Clamped what = clamped(policy, caller_);
  surveyed(what, caller_).roots.front().directories->write();
  ASSERT_EQ(::rename(in("filled/3").c_str(), in("filled/conf").c_str()), 0);
  EXPECT_THAT(paths_of(surveyed(what, caller_).facts.masked), Contains(in("filled/conf/x.key")));
}

}  // namespace
}  // namespace cordon
