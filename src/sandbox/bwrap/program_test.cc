#include "sandbox/bwrap/program.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

namespace cordon::bwrap {
namespace {

using namespace std::chrono_literals;

// An executable file in a directory of this person, who may be root.
class Planted {
 public:
  Planted() {
    std::string pattern = "/var/tmp/cordon-bwrap.XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    std::ofstream(path()) << "not a program";
    ::chmod(path().c_str(), 0755);
  }
  Planted(const Planted&) = delete;
  Planted& operator=(const Planted&) = delete;
  ~Planted() {
    ::unlink(path().c_str());
    ::rmdir(directory_.c_str());
  }
  [[nodiscard]] std::string path() const { return directory_ + "/bwrap"; }

 private:
  std::string directory_;
};

TEST(BwrapProgram, IsUntrustedWhereOthersMayWriteOnTheWay) {
  // Whoever owns the file: everybody may write to /var/tmp.
  const Planted planted;
  const auto found = find_program({"/no/such/place", planted.path()});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::Untrusted);
  EXPECT_NE(found.error().what.find("/var/tmp"), std::string::npos) << found.error().what;
}

TEST(BwrapProgram, IsUnavailableWhereThereIsNone) {
  const auto found = find_program({"/no/such/place"});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::Unavailable);
  EXPECT_FALSE(found.error().hint.empty());
}

TEST(BwrapProgram, IsWhatIsInstalledAndKnowsEveryOption) {
  const auto found = find_program();
  ASSERT_TRUE(found) << message(found.error());
  const auto checked = check_options(*found);
  EXPECT_TRUE(checked) << message(checked.error());
}

TEST(BwrapProgram, IsUntrustedWithinAWritableGrantOnly) {
  const auto found = find_program({"/usr/bin/true"});
  ASSERT_TRUE(found) << message(found.error());
  Plan plan;
  plan.build = {op::Bind{"/usr", "/usr", MountAccess::ReadOnly, FileKind::Directory, {1, 2}},
                op::Bind{"/usr/lib", "/usr/lib", MountAccess::ReadWrite, FileKind::Directory, {}}};
  EXPECT_TRUE(refuse_within_grants(*found, plan));
  plan.build.emplace_back(
      op::Bind{"/usr", "/usr", MountAccess::ReadWrite, FileKind::Directory, {1, 2}});
  const auto refused = refuse_within_grants(*found, plan);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Untrusted);
  // Where it is held, no command can have written it.
  plan.build.emplace_back(op::Hold{found->path, {1, 3}, MountAccess::ReadWrite, "pinned"});
  EXPECT_FALSE(refuse_within_grants(*found, plan));
  plan.build.emplace_back(op::Hold{found->path, {1, 3}, MountAccess::ReadOnly, "cordon"});
  EXPECT_TRUE(refuse_within_grants(*found, plan));
}

TEST(BwrapProgram, WithoutAnOptionIsNamedWithTheCure) {
  const auto found = find_program({"/usr/bin/printenv"});  // its help has no such option
  ASSERT_TRUE(found);
  const auto checked = check_options(*found);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().kind, ErrorKind::Unavailable);
  EXPECT_NE(checked.error().what.find("--args"), std::string::npos);
  EXPECT_NE(checked.error().hint.find("0.8"), std::string::npos);
}

TEST(BwrapProgram, ThatDoesNotAnswerIsGivenUp) {
  const auto found = find_program({"/usr/bin/sleep"});
  ASSERT_TRUE(found);
  const auto answer = ask(*found, {"60"}, {}, 50ms);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::Unavailable);
}

TEST(BwrapProgram, AnswersWithoutTheCallersEnvironment) {
  const auto found = find_program({"/usr/bin/env"});
  ASSERT_TRUE(found);
  const auto answer = ask(*found, {}, {}, 5s);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->out, "");
}

}  // namespace
}  // namespace cordon::bwrap
