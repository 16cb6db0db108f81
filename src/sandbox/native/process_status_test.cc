#include "sandbox/native/process_status.h"

#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cordon::native {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ne;

constexpr std::string_view kConfined =
    "Name:\ttrue\nUmask:\t0022\nState:\tS (sleeping)\nCapInh:\t0000000000000000\n"
    "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n"
    "CapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n"
    "Speculation_Store_Bypass:\tnot vulnerable\n";

Measured parsed(std::string_view text) {
  Measured measured;
  parse_status(text, measured);
  return measured;
}

TEST(ParseStatus, ReadsAConfinedProcess) {
  const Measured measured = parsed(kConfined);
  EXPECT_THAT(measured.capabilities, Each(0U));
  EXPECT_EQ(measured.no_new_privileges, 1);
  EXPECT_EQ(measured.seccomp_mode, 2);
  EXPECT_EQ(measured.seccomp_filters, 3);
}

TEST(ParseStatus, ReadsEachCapabilitySetIntoItsOwnPlace) {
  const Measured measured = parsed(
      "CapInh:\t0000000000000001\nCapPrm:\t000000000000000a\nCapEff:\t00000000000000ff\n"
      "CapBnd:\t000001ffffffffff\nCapAmb:\t0000000000000010\n");
  EXPECT_THAT(measured.capabilities, ElementsAre(1U, 10U, 255U, 0x1ffffffffffU, 16U));
}

TEST(ParseStatus, TakesNoSilenceForConfinement) {
  const Measured measured = parsed("");
  EXPECT_THAT(measured.capabilities, Each(Ne(0U)));
  EXPECT_NE(measured.no_new_privileges, 1);
  EXPECT_NE(measured.seccomp_mode, 2);
  EXPECT_LE(measured.seccomp_filters, 0);
}

TEST(ParseStatus, TakesNoUnreadableValueForAnEmptySet) {
  for (const char* value : {"", "xyz", "00000000000000g0", "-0"}) {
    const Measured measured = parsed(std::string("CapEff:\t") + value + "\nNoNewPrivs:\t" + value);
    EXPECT_NE(measured.capabilities[2], 0U) << value;
    EXPECT_NE(measured.no_new_privileges, 1) << value;
  }
}

TEST(ParseStatus, IsNotDeceivedByAProcessNameThatLooksLikeAField) {
  // The kernel escapes newlines in the name, so a field can only begin a line of its own.
  const Measured measured = parsed("Name:\tx\\nNoNewPrivs:\t1\nNoNewPrivs:\t0\nSeccomp:\t0\n");
  EXPECT_EQ(measured.no_new_privileges, 0);
  EXPECT_EQ(measured.seccomp_mode, 0);
}

TEST(ParseStatus, StopsAtACutLineWithoutTakingItForTruth) {
  // A file cut in the middle of a capability set must not read as a smaller set.
  const Measured measured = parsed(kConfined.substr(0, kConfined.find("CapAmb") + 3));
  EXPECT_EQ(measured.capabilities[3], 0U);
  EXPECT_NE(measured.capabilities[4], 0U);
  EXPECT_EQ(measured.no_new_privileges, -1);
}

TEST(MeasureProcess, SeesThePrivilegesAProcessGaveUp) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool done = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
    const char byte = done ? 1 : 0;
    if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  Measured measured;
  measure_process(child, measured);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  EXPECT_EQ(byte, 1);
  EXPECT_EQ(measured.no_new_privileges, 1);
  EXPECT_EQ(measured.seccomp_mode, 0);
}

TEST(MeasureProcess, ShowsNothingOfAProcessThatIsNotThere) {
  Measured measured;
  measured.no_new_privileges = 1;
  measured.seccomp_mode = 2;
  measure_process(0x3fffffff, measured);
  EXPECT_NE(measured.no_new_privileges, 1);
  EXPECT_NE(measured.seccomp_mode, 2);
  EXPECT_THAT(measured.capabilities, Each(Ne(0U)));
}

TEST(MeasureNamespaces, FindsSevenIdentities) { EXPECT_THAT(own_namespaces(), Each(Ne(0U))); }

}  // namespace
}  // namespace cordon::native
