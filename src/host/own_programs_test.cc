#include "host/own_programs.h"

#include <gmock/gmock.h>

namespace cordon {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::StartsWith;

TEST(OwnPrograms, LieBesideEachOtherOrAsTheyAreInstalled) {
  EXPECT_THAT(own_places("/opt/c/bin", "cordon-tools"),
              ElementsAre("/opt/c/bin/cordon-tools", "/opt/c/libexec/cordon/cordon-tools"));
  EXPECT_THAT(own_places("/opt/c/libexec/cordon", "cordon"),
              ElementsAre("/opt/c/libexec/cordon/cordon", "/opt/c/bin/cordon"));
}

TEST(OwnPrograms, AreLookedForNowhereElse) {
  EXPECT_THAT(own_places("/tmp/x", "cordon-tools"), ElementsAre("/tmp/x/cordon-tools"));
  EXPECT_THAT(own_places("/tmp/x/build", "cordon-tools"), ElementsAre("/tmp/x/build/cordon-tools"));
  EXPECT_THAT(own_places("/tmp/sbin", "cordon-tools"), ElementsAre("/tmp/sbin/cordon-tools"));
  EXPECT_THAT(own_places("/", "cordon-tools"), ElementsAre("/cordon-tools"));
  EXPECT_THAT(own_places("/cordon", "cordon"), ElementsAre("/cordon/cordon"));
  Caller caller;
  caller.executable = "/tmp/x/cordon";
  EXPECT_THAT(own_programs(caller), Each(StartsWith("/tmp/x/cordon")));
  EXPECT_THAT(own_programs(caller), Contains("/tmp/x/cordon-apply"));
}

}  // namespace
}  // namespace cordon
