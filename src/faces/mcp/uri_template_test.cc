#include "faces/mcp/registry.h"

#include <gtest/gtest.h>

namespace cordon::mcp {
namespace {

std::string matched(std::string_view pattern, std::string_view uri) {
  const auto variables = match_template(pattern, uri);
  return variables ? write_json(*variables, JsonStyle::Compact) : "no";
}

TEST(UriTemplate, FindsItsVariables) {
  EXPECT_EQ(matched("c://runs/{id}/{stream}", "c://runs/7/stdout"),
            R"({"id":"7","stream":"stdout"})");
  EXPECT_EQ(matched("c://{a}-{b}", "c://x-y-z"), R"({"a":"x","b":"y-z"})");
  EXPECT_EQ(matched("c://fixed", "c://fixed"), "{}");
}

TEST(UriTemplate, AVariableIsNeverEmptyAndNeverCrossesASlash) {
  for (const char* uri : {"c://runs//x", "c://runs/a/b/x", "c://runs/x", "c://runs/a/xy", "",
                          "c://runs/a/x/", "d://runs/a/x"}) {
    EXPECT_EQ(matched("c://runs/{id}/x", uri), "no") << uri;
  }
  EXPECT_EQ(matched("c://runs/{id}/x", "c://runs/..%2f/x"), R"({"id":"..%2f"})");
}

TEST(UriTemplate, ABrokenTemplateMatchesNothing) { EXPECT_EQ(matched("c://{id", "c://x"), "no"); }

}  // namespace
}  // namespace cordon::mcp
