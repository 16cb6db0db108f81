#include "policy/deny_index.h"

#include <gtest/gtest.h>

namespace cordon {
namespace {

TEST(DenyMatch, WithoutAnAnchorNamesAnyDepth) {
  const DenyGlob deny{".env", "", ".env"};
  EXPECT_TRUE(deny_matches(deny, "/p/.env"));
  EXPECT_TRUE(deny_matches(deny, "/p/a/b/.env"));
  EXPECT_FALSE(deny_matches(deny, "/p/.env.example"));
  EXPECT_TRUE(deny_matches({"*.pem", "", "*.pem"}, "/p/k.pem"));
}

TEST(DenyMatch, WithoutAPatternNamesTheAnchorItself) {
  const DenyGlob deny{"./secret", "/p/secret", ""};
  EXPECT_TRUE(deny_matches(deny, "/p/secret"));
  EXPECT_FALSE(deny_matches(deny, "/p/secrets"));
  EXPECT_FALSE(deny_matches(deny, "/p"));
}

TEST(DenyMatch, IsAnchoredLikeAPath) {
  const DenyGlob direct{"keys/*.pem", "/p/keys", "*.pem"};
  EXPECT_TRUE(deny_matches(direct, "/p/keys/a.pem"));
  EXPECT_FALSE(deny_matches(direct, "/p/keys/b/a.pem"));
  EXPECT_FALSE(deny_matches(direct, "/p/a.pem"));
  EXPECT_FALSE(deny_matches(direct, "/p/keys"));
  const DenyGlob deep{"keys/**/*.pem", "/p/keys", "**/*.pem"};
  EXPECT_TRUE(deny_matches(deep, "/p/keys/b/a.pem"));
  EXPECT_TRUE(deny_matches({"/*.key", "/", "*.key"}, "/a.key"));
}

}  // namespace
}  // namespace cordon
