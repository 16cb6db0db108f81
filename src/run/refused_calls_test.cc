#include "run/refused_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> calls(const std::vector<std::string>& argv,
                               const std::vector<std::string>& messages = {}) {
  std::vector<std::string> found;
  for (const Hint& hint : refused_calls_in(argv, messages)) {
    EXPECT_EQ(hint.access, "call");
    EXPECT_FALSE(hint.rule.empty() || hint.change.empty());
    found.push_back(hint.path.starts_with("chmod") ? "mode"
                    : hint.path == "ptrace"        ? "trace"
                                                   : "datagrams");
  }
  return found;
}

TEST(RefusedCalls, KnowsModesWithAnOwnersBit) {
  for (const char* mode : {"g+s", "u+s", "+s", "ug+s", "u=rwx,g+s", "u=rwxs", "a+xs", "2775",
                           "4755", "06755", "0o2775", "rwxr-sr-x", "rwSr--r--"})
    EXPECT_TRUE(is_owners_mode(mode)) << mode;
  for (const char* mode : {"g-s", "g+w", "755", "0755", "1777", "2", "20000", "8755", "x=os",
                           "rwxr-xr-t", "--class=s", "", "s", "this+s", "u=rwx"})
    EXPECT_FALSE(is_owners_mode(mode)) << mode;
}

TEST(RefusedCalls, TakesThemFromTheCommand) {
  EXPECT_THAT(calls({"chmod", "g+s", "d"}), ElementsAre("mode"));
  EXPECT_THAT(calls({"/bin/chmod", "2775", "d"}), ElementsAre("mode"));
  EXPECT_THAT(calls({"install", "-m2755", "a", "b"}), ElementsAre("mode"));
  EXPECT_THAT(calls({"mkdir", "--mode=2775", "d"}), ElementsAre("mode"));
  EXPECT_THAT(calls({"sh", "-c", "cd x; chmod g+s 'd'; make"}), ElementsAre("mode"));
  EXPECT_THAT(calls({"python3", "-c", "os.chmod('d', 0o2775)"}), ElementsAre("mode"));
  EXPECT_THAT(calls({"git", "init", "--shared"}), ElementsAre("mode"));
  EXPECT_THAT(calls({"sh", "-c", "git -C x init --shared=group"}), ElementsAre("mode"));
  EXPECT_THAT(calls({"python3", "-c", "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)"}),
              ElementsAre("datagrams"));
}

TEST(RefusedCalls, KnowsWhatLooksIntoOthers) {
  EXPECT_THAT(calls({"/usr/bin/strace", "true"}), ElementsAre("trace"));
  EXPECT_THAT(calls({"./a"}, {"==2==LeakSanitizer has encountered a fatal error.\n"}),
              ElementsAre("trace"));
  EXPECT_THAT(calls({"sh", "-c", "./trace"}, {"strace: PTRACE_TRACEME: Operation not permitted\n"}),
              ElementsAre("trace"));
  EXPECT_THAT(calls({"sh", "-c", "apt-get install strace gdb"}), IsEmpty());
  EXPECT_THAT(calls({"cat", "gdb"}, {"cat: gdb: No such file or directory\n"}), IsEmpty());
}

TEST(RefusedCalls, KnowsWhatSetsModes) {
  EXPECT_TRUE(sets_modes({"chmod", "755", "d"}));
  EXPECT_TRUE(sets_modes({"sh", "-c", "cd x && /bin/chmod g-w d"}));
  EXPECT_FALSE(sets_modes({"cat", "chmod.c"}));
}

TEST(RefusedCalls, TakesThemFromWhatItSaid) {
  EXPECT_THAT(calls({"make", "install"}, {"chmod: changing permissions of 'd': Operation not "
                                          "permitted\ninstall -m 2755 -d d\n"}),
              ElementsAre("mode"));
  EXPECT_THAT(calls({"tar", "-xpf", "a.tar"},
                    {"tar: d: Cannot change mode to rwxr-sr-x: Operation not permitted\n"}),
              ElementsAre("mode"));
  EXPECT_THAT(
      calls({"./new-repository"}, {"fatal: Could not make /p/.git/refs writable by group\n"}),
      ElementsAre("mode"));
  EXPECT_THAT(calls({"./server"}, {"", "socketpair: Operation not permitted\n"}),
              ElementsAre("datagrams"));
  EXPECT_THAT(calls({"./t.py"}, {"  a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
                                 "PermissionError: [Errno 1] Operation not permitted\n"}),
              ElementsAre("datagrams"));
}

TEST(RefusedCalls, LeavesTheRestAlone) {
  EXPECT_THAT(calls({"chmod", "755", "d"}), IsEmpty());
  EXPECT_THAT(calls({"seq", "2775"}), IsEmpty());
  EXPECT_THAT(calls({"chmod", "-R", "go-s", "."}, {"chmod: Operation not permitted\n"}), IsEmpty());
  EXPECT_THAT(calls({"make"}, {"chmod: changing permissions of 'd': Operation not permitted\n"}),
              IsEmpty());
  EXPECT_THAT(calls({"make"}, {"install -m 2755 a b\nerror: no rule\n"}), IsEmpty());
  EXPECT_THAT(calls({"./t"}, {"socketpair: Too many open files\n"}), IsEmpty());
  EXPECT_THAT(calls({"./t"}, {"socket(AF_INET, SOCK_DGRAM): Operation not permitted\n"}),
              IsEmpty());
  EXPECT_THAT(calls({}), IsEmpty());
}

}  // namespace
}  // namespace cordon
