#include "host/own_programs.h"

#include <gmock/gmock.h>

namespace cordon {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::StartsWith;

TEST(OwnPrograms, LieBesideEachOtherOrAsTheyAreInstalled) {
  EXPECT_THAT(own_places("/opt/c/bin", "cordon-mcp"),
              ElementsAre("/opt/c/bin/cordon-mcp", "/opt/c/libexec/cordon/cordon-mcp"));
  EXPECT_THAT(own_places("/opt/c/libexec/cordon", "cordon"),
              ElementsAre("/opt/c/libexec/cordon/cordon", "/opt/c/bin/cordon"));
}

TEST(OwnPrograms, AreLookedForNowhereElse) {
  EXPECT_THAT(own_places("/tmp/x", "cordon-mcp"), ElementsAre("/tmp/x/cordon-mcp"));
  EXPECT_THAT(own_places("/tmp/x/build", "cordon-mcp"), ElementsAre("/tmp/x/build/cordon-mcp"));
  EXPECT_THAT(own_places("/tmp/sbin", "cordon-mcp"), ElementsAre("/tmp/sbin/cordon-mcp"));
  EXPECT_THAT(own_places("/", "cordon-mcp"), ElementsAre("/cordon-mcp"));
  EXPECT_THAT(own_places("/cordon", "cordon"), ElementsAre("/cordon/cordon"));
  Caller caller;
  caller.executable = "/tmp/x/cordon";
  EXPECT_THAT(own_programs(caller), Each(StartsWith("/tmp/x/cordon")));
  EXPECT_THAT(own_programs(caller), Contains("/tmp/x/cordon-apply"));
}

}  // namespace
}  // namespace cordon
