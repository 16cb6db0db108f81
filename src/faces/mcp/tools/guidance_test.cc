#include "faces/mcp/tools/guidance.h"

#include <gtest/gtest.h>

#include <map>

namespace cordon::mcp {
namespace {

// A run may end without one between two looks at it.
TEST(Guidance, ARunWithoutAnOutcomeGivesNone) {
  Report report;
  report.error = setup_error("no sandbox", 0);
  const std::map<std::string, std::string> environment;
  const Guidance guidance = guidance_of(report, {}, CallCeilings{}, SecretMask(environment));
  EXPECT_TRUE(guidance.help.empty());
  EXPECT_TRUE(guidance.hints.empty());
  EXPECT_TRUE(guidance.held_back.empty());
}

}  // namespace
}  // namespace cordon::mcp
