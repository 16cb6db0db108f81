#include "faces/mcp/tools/run_request.h"

#include <gtest/gtest.h>

#include "faces/mcp/tools/tools.h"

namespace cordon::mcp {
namespace {

TEST(EnvFile, SplitsAtTheFirstEquals) {
  const auto read = read_env_lines("# note\n\n A = b=c \r\nEMPTY=\n", "f");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, (std::map<std::string, std::string>{{"A", "b=c"}, {"EMPTY", ""}}));
}

TEST(EnvFile, NamesTheLineThatIsNoAssignment) {
  for (const char* line : {"word", "=x", "1A=b", "A B=c"}) {
    const auto read = read_env_lines(std::string("A=1\n") + line, "f");
    ASSERT_FALSE(read) << line;
    EXPECT_EQ(read.error().place, (Place{"f", 2, 1}));
  }
}

TEST(Switches, OnlyOneSwitchesOn) {
  for (const char* value : {"", "0", "true", "01", "1 ", "yes"}) {
    EXPECT_FALSE(read_switches({{"CORDON_ENABLE_RUN_CODE", value}}).run_code) << value;
  }
  EXPECT_TRUE(read_switches({{"CORDON_ENABLE_RUN_CODE", "1"}}).run_code);
  EXPECT_TRUE(read_switches({{"ENTRABOT_ENABLE_RUN_CODE", "1"}}).run_code);
  EXPECT_TRUE(read_switches({{"ENTRABOT_ENABLE_UNSAFE_WRITE", "1"}}).unsafe_write);
  EXPECT_FALSE(
      read_switches({{"CORDON_ENABLE_RUN_CODE", "0"}, {"ENTRABOT_ENABLE_RUN_CODE", "1"}}).run_code);
}

}  // namespace
}  // namespace cordon::mcp
