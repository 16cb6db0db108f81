#include "base/request_path.h"

#include <gtest/gtest.h>

namespace cordon {
namespace {

RequestPath readings(std::string_view path) {
  const auto read = read_request_path(path);
  EXPECT_TRUE(read.has_value()) << path;
  return read.value_or(RequestPath{});
}

bool allows(std::string_view pattern, std::string_view path) {
  return PathPattern::parse(pattern).value().allows(readings(path));
}

bool denies(std::string_view pattern, std::string_view path) {
  return PathPattern::parse(pattern).value().denies(readings(path));
}

bool covers(std::string_view wide, std::string_view narrow) {
  return PathPattern::parse(wide).value().covers(PathPattern::parse(narrow).value());
}

TEST(RequestPath, IsNormalisedAsUrlsAre) {
  EXPECT_EQ(readings("/v1/%6dodels").strict, "/v1/models");
  EXPECT_EQ(readings("/a/./b/../c").strict, "/a/c");
  EXPECT_EQ(readings("/a/%2e%2E/b").strict, "/b");
  EXPECT_EQ(readings("/a/..").strict, "/");
  EXPECT_EQ(readings("/a/b/.").strict, "/a/b/");
  EXPECT_EQ(readings("/a%2fb%c3%a9").strict, "/a%2Fb%C3%A9");
  EXPECT_EQ(readings("//a//b/").strict, "//a//b/");
  EXPECT_EQ(readings("/a;v=1/b").strict, "/a;v=1/b");
}

TEST(RequestPath, HasTheReadingOfTheMostGenerousServer) {
  EXPECT_EQ(readings("/a%2fb").loose, "/a/b");
  EXPECT_EQ(readings("/a/..%2fadmin").loose, "/admin");
  EXPECT_EQ(readings("/a%5c..%5cadmin").loose, "/admin");
  EXPECT_EQ(readings("/a/..;/admin").loose, "/admin");
  EXPECT_EQ(readings("/a;v=1/b;w").loose, "/a/b");
  EXPECT_EQ(readings("//a///b/").loose, "/a/b/");
  EXPECT_EQ(readings("/a%252fb").loose, "/a/b");
  EXPECT_EQ(readings("/a%252fb").strict, "/a%252fb");
  EXPECT_EQ(readings("/a/%25252e%2525%32e/b").loose, "/b");
  EXPECT_EQ(readings("/100%25/%2525zz").loose, "/100%/%zz");
  // Of what is sent, which here has no dots any more.
  EXPECT_EQ(readings("/files//../fin").strict, "/files/fin");
  EXPECT_EQ(readings("/files//../fin").loose, "/files/fin");
}

TEST(RequestPath, RefusesWhatNoUrlHas) {
  for (const char* path : {"",
                           "a",
                           "*",
                           "http://h/",
                           "/a b",
                           "/a\r\nX: y",
                           "/a\tb",
                           "/a\\b",
                           "/a%",
                           "/a%2",
                           "/a%zz",
                           "/a%0d%0aX",
                           "/a%00",
                           "/a%7f",
                           "/..",
                           "/a/../..",
                           "/a/..%2f..%2fb",
                           "/\xc3\xa9",
                           "/a#b",
                           "/a\"b",
                           "/a<b",
                           "/a?b",
                           "/a%2500",
                           "/a%250d%25250aX",
                           "/a%c0%af",
                           "/a/%C0%AE%C0%AE/b",
                           "/a%e0%80%af",
                           "/a%f0%80%80%af",
                           "/a%25c1%259c",
                           "/a%3f%2f..%2f..%2f.."}) {
    EXPECT_FALSE(read_request_path(path).has_value()) << path;
  }
}

TEST(PathPattern, AStarStaysWithinItsSegment) {
  EXPECT_TRUE(allows("/v1/*/items", "/v1/x/items"));
  EXPECT_FALSE(allows("/v1/*/items", "/v1/x/y/items"));
  EXPECT_FALSE(allows("/v1/*", "/v1/"));
  EXPECT_TRUE(allows("/v1/models*", "/v1/models"));
  EXPECT_TRUE(allows("/v1/*-a*b", "/v1/x-a-a1b"));
  EXPECT_FALSE(allows("/v1/*-a*b", "/v1/x-a-a1bc"));
  EXPECT_TRUE(allows("/", "/"));
  EXPECT_FALSE(allows("/v1/models", "/v1/models/"));
  EXPECT_FALSE(allows("/v1/models", "/V1/models"));
}

TEST(PathPattern, TwoStarsAreTheRest) {
  for (const char* path : {"/v1", "/v1/", "/v1/a", "/v1/a/b/"})
    EXPECT_TRUE(allows("/v1/**", path)) << path;
  EXPECT_FALSE(allows("/v1/**", "/v10"));
  EXPECT_FALSE(allows("/v1/**", "/"));
  EXPECT_TRUE(allows("/**", "/"));
  EXPECT_TRUE(allows("/**", "/a/b"));
}

TEST(PathPattern, AllowsOnlyWhatEveryServerTakesForTheSame) {
  EXPECT_TRUE(allows("/files/**", "/files/a%2Fb"));
  EXPECT_FALSE(allows("/files/**", "/files/..%2fadmin"));
  EXPECT_FALSE(allows("/files/**", "/files/..;/admin"));
  EXPECT_FALSE(allows("/files/*", "/files/a%2fb"));
  EXPECT_FALSE(allows("/files/**", "//files/a"));
  EXPECT_FALSE(allows("/files/**", "/files/%252e%252e/admin"));
  EXPECT_TRUE(allows("/files/*", "/files/100%25"));
  EXPECT_TRUE(allows("/files/*", "/files/caf%C3%A9"));
  EXPECT_TRUE(allows("/files/*", "/files/caf%E9"));
  // Some decode a path before they look for its query.
  EXPECT_TRUE(allows("/files/*", "/files/what%3F"));
  EXPECT_TRUE(allows("/repos/*%3F/issues", "/repos/what%3f/issues"));
  for (const char* path : {"/repos/me%3F/issues", "/repos/me%23/issues", "/repos/me%253F/issues"})
    EXPECT_FALSE(allows("/repos/*/issues", path)) << path;
  EXPECT_TRUE(allows("/projects/group%2Fproject/**", "/projects/group%2fproject/issues"));
  EXPECT_FALSE(allows("/projects/group%2Fproject/**", "/projects/group/project/issues"));
}

TEST(PathPattern, DeniesWhatAnyServerTakesForIt) {
  for (const char* path :
       {"/admin", "/admin/x", "/files/../admin", "/files/..%2fadmin", "/files/..;/admin", "//admin",
        "/admin;v=1", "/%61dmin", "/admin%2fx", "/files%5c..%5cadmin", "/ADMIN/x", "/%2541dmin/",
        "/files/%252e%252e/admin"}) {
    EXPECT_TRUE(denies("/admin/**", path)) << path;
  }
  for (const char* path : {"/v1/Models", "/v1/models/", "/V1/models//", "/v1/models;a"})
    EXPECT_TRUE(denies("/v1/models", path)) << path;
  EXPECT_FALSE(denies("/v1/models", "/v1/models/7"));
  EXPECT_TRUE(denies("/Me/**", "/me/x"));
  EXPECT_FALSE(denies("/admin/**", "/files/admin"));
  for (const char* path :
       {"/admin%3F", "/admin%23/x", "/Admin%253fx", "/admin.", "/ADMIN%20./x", "/admin../x"})
    EXPECT_TRUE(denies("/admin/**", path)) << path;
  EXPECT_TRUE(denies("/v1/a.*", "/v1/a."));
  EXPECT_TRUE(denies("/v1/...", "/v1/..."));
  EXPECT_FALSE(denies("/v1/.a", "/v1/a"));
}

TEST(PathPattern, IsWrittenAsRequestsAreRead) {
  for (const char* text :
       {"", "v1", "/a/../b", "/%61", "/a%2fb", "/a/**/b", "/a**", "/a b", "/a?b=*", "/**/x"}) {
    EXPECT_FALSE(PathPattern::parse(text).has_value()) << text;
  }
  EXPECT_EQ(PathPattern::parse("/%61").error().hint, "write /a");
  EXPECT_TRUE(PathPattern::parse("/a").has_value());
}

TEST(PathPattern, CoversWhatItMatchesWholly) {
  EXPECT_TRUE(covers("/v1/**", "/v1/models"));
  EXPECT_TRUE(covers("/v1/**", "/v1/*/items"));
  EXPECT_TRUE(covers("/**", "/v1/**"));
  EXPECT_TRUE(covers("/v1/*", "/v1/mod*"));
  EXPECT_TRUE(covers("/v1/mod*", "/v1/models"));
  EXPECT_FALSE(covers("/v1/*", "/v1/**"));
  EXPECT_FALSE(covers("/v1/models", "/v1/*"));
  EXPECT_FALSE(covers("/v1/*", "/v1/"));
  EXPECT_FALSE(covers("/v1/**", "/v2/a"));
}

TEST(RequestMethod, IsATokenInCapitals) {
  for (const char* method : {"GET", "POST", "PROPFIND", "M-SEARCH"})
    EXPECT_TRUE(is_request_method(method)) << method;
  for (const char* method : {"", "get", "Get", "CONNECT", "TRACE", "G T", "GET\r\n", "G/T"})
    EXPECT_FALSE(is_request_method(method)) << method;
}

}  // namespace
}  // namespace cordon
