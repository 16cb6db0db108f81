#include "run/hints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Mentioned : public testing::Test {
 protected:
  Mentioned() { caller_.home = "/home/u"; }
  std::vector<MentionedPath> in(const std::vector<std::string>& argv,
                                const std::vector<std::string>& messages = {}) {
    return mentioned_paths(argv, messages, "/home/u/project", caller_);
  }
  Caller caller_;
};

TEST_F(Mentioned, ArgumentsAreMadeAbsolute) {
  EXPECT_THAT(in({"/bin/cat", "~/notes", "../other/x", "sub/y", "plain", "--file=/etc/f",
                  "-I/opt/i", "/with a blank/z"}),
              ElementsAre(MentionedPath{"/home/u/notes"}, MentionedPath{"/home/u/other/x"},
                          MentionedPath{"/home/u/project/sub/y"}, MentionedPath{"/etc/f"},
                          MentionedPath{"/opt/i"}, MentionedPath{"/with a blank/z"}));
}

TEST_F(Mentioned, WordsOfAScriptCount) {
  EXPECT_THAT(in({"sh", "-c", "cat '/srv/data' >/dev/null; ls ~/docs|wc"}),
              ElementsAre(MentionedPath{"/srv/data"}, MentionedPath{"/home/u/docs"}));
}

TEST_F(Mentioned, AddressesAndTheSandboxesOwnPlacesDoNot) {
  EXPECT_THAT(in({"curl", "https://example.com/x", "host:/srv/x", "/proc/1/environ", "/dev/kvm"}),
              IsEmpty());
}

TEST_F(Mentioned, OnlyLinesThatTellOfAnErrorCount) {
  EXPECT_THAT(in({"make"}, {"reading /srv/fine\ncat: /srv/gone: No such file or directory\n"
                            "touch: cannot touch '/usr/new': Read-only file system\n"
                            "relative/x: not found\n"}),
              ElementsAre(MentionedPath{"/srv/gone"}, MentionedPath{"/usr/new", true}));
}

TEST_F(Mentioned, EachOnceAndNoMoreThanAreWorthJudging) {
  std::string flood;
  for (int i = 0; i < 1000; ++i) flood += "/a" + std::to_string(i) + ": not found\n";
  EXPECT_EQ(in({"x", "/a/b", "/a/b"}).size(), 1U);
  EXPECT_LE(in({"x"}, {flood}).size(), 32U);
  // What comes last is what the command failed of.
  EXPECT_THAT(in({"x"}, {"/first: not found\n" + std::string(1 << 20, 'x') + "\n/last: not found"}),
              ElementsAre(MentionedPath{"/last"}));
}

}  // namespace
}  // namespace cordon
