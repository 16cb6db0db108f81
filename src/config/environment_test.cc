#include "config/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Ceiling ceiling_of(const std::map<std::string, std::string>& environment) {
  auto ceiling = environment_ceiling(environment);
  EXPECT_TRUE(ceiling.has_value()) << message(ceiling.error());
  EXPECT_TRUE(ceiling->has_value());
  return ceiling->value();
}

Error refusal(const std::map<std::string, std::string>& environment) {
  auto ceiling = environment_ceiling(environment);
  EXPECT_FALSE(ceiling.has_value());
  return ceiling ? Error{} : ceiling.error();
}

TEST(PathList, KeepsDriveLettersInWindowsStyle) {
  EXPECT_THAT(split_path_list(R"(C:\A;D:\B)", PathListStyle::Windows),
              ElementsAre(R"(C:\A)", R"(D:\B)"));
}

TEST(PathList, SplitsAtColonsInPosixStyle) {
  EXPECT_THAT(split_path_list("/a:/b;c", PathListStyle::Posix), ElementsAre("/a", "/b;c"));
}

TEST(PathList, DropsEmptyFragments) {
  EXPECT_THAT(split_path_list("::", PathListStyle::Posix), IsEmpty());
  EXPECT_THAT(split_path_list(":/a::/b:", PathListStyle::Posix), ElementsAre("/a", "/b"));
  EXPECT_THAT(split_path_list(";;", PathListStyle::Windows), IsEmpty());
}

TEST(EnvironmentCeiling, IsAbsentWhenNoVariableIsSet) {
  const auto ceiling = environment_ceiling({{"PATH", "/bin"}, {"CORDON_SANDBOX", "1"}});
  ASSERT_TRUE(ceiling.has_value());
  EXPECT_FALSE(ceiling->has_value());
}

TEST(EnvironmentCeiling, GrantsNothingWhereAVariableIsUnset) {
  Ceiling expected;
  expected.id = "environment";
  expected.policy.name = "environment";
  expected.policy.limits.wall_ms = 30'000;
  EXPECT_EQ(ceiling_of({{"CORDON_SANDBOX_NETWORK", "block"}}), expected);
  EXPECT_EQ(ceiling_of({{"CORDON_SANDBOX_READONLY_PATHS", ""}}), expected);
  EXPECT_EQ(ceiling_of({{"ENTRABOT_SANDBOX_READWRITE_PATHS", "::"}}), expected);
  EXPECT_EQ(ceiling_of({{"ENTRABOT_SANDBOX_TIMEOUT_MS", "30000"}}), expected);
}

TEST(EnvironmentCeiling, TakesEveryVariable) {
  const Ceiling ceiling = ceiling_of({{"CORDON_SANDBOX_READONLY_PATHS", "/:~/docs:/opt"},
                                      {"CORDON_SANDBOX_READWRITE_PATHS", "~:/srv/work"},
                                      {"CORDON_SANDBOX_TIMEOUT_MS", "1500"},
                                      {"CORDON_SANDBOX_NETWORK", "allow"}});
  EXPECT_THAT(ceiling.policy.fs.read,
              ElementsAre(PathRule{"/", ""}, PathRule{"~/docs", ""}, PathRule{"/opt", ""}));
  EXPECT_THAT(ceiling.policy.fs.write, ElementsAre(PathRule{"~", ""}, PathRule{"/srv/work", ""}));
  EXPECT_EQ(ceiling.policy.limits.wall_ms, 1500U);
  EXPECT_EQ(ceiling.policy.net.mode, NetMode::Open);
  EXPECT_TRUE(ceiling.bounds_net);
  EXPECT_FALSE(ceiling.bounds_env);
  EXPECT_EQ(ceiling.home, std::nullopt);
  EXPECT_EQ(ceiling.caches, std::nullopt);
}

TEST(EnvironmentCeiling, PrefersTheCordonSpelling) {
  const Ceiling ceiling = ceiling_of({{"ENTRABOT_SANDBOX_TIMEOUT_MS", "9"},
                                      {"CORDON_SANDBOX_TIMEOUT_MS", "7"},
                                      {"ENTRABOT_SANDBOX_READONLY_PATHS", "/etc"},
                                      {"CORDON_SANDBOX_READONLY_PATHS", ""},
                                      {"ENTRABOT_SANDBOX_READWRITE_PATHS", "/srv"}});
  EXPECT_EQ(ceiling.policy.limits.wall_ms, 7U);
  EXPECT_THAT(ceiling.policy.fs.read, IsEmpty());
  EXPECT_THAT(ceiling.policy.fs.write, ElementsAre(PathRule{"/srv", ""}));
}

TEST(EnvironmentCeiling, RefusesANetworkWordItDoesNotKnow) {
  const Error error = refusal({{"ENTRABOT_SANDBOX_NETWORK", "alow"}});
  EXPECT_EQ(error.kind, ErrorKind::Policy);
  EXPECT_EQ(error.what, "ENTRABOT_SANDBOX_NETWORK is \"alow\", not \"block\" or \"allow\"");
  EXPECT_EQ(error.hint, "did you mean \"allow\"?");
  for (const char* word : {"", "ALLOW", "Block", "none", "open", " allow", "true", "0"}) {
    EXPECT_EQ(refusal({{"CORDON_SANDBOX_NETWORK", word}}).kind, ErrorKind::Policy) << word;
  }
}

TEST(EnvironmentCeiling, RefusesATimeoutThatIsNotAPositiveInteger) {
  for (const char* value : {"", "0", "000", "-1", "+1", "1.5", "1e3", "30s", " 30", "0x10",
                            "unlimited", "nan", "99999999999999999999"}) {
    const Error error = refusal({{"CORDON_SANDBOX_TIMEOUT_MS", value}});
    EXPECT_EQ(error.what, "CORDON_SANDBOX_TIMEOUT_MS is \"" + std::string(value) +
                              "\", not a number of milliseconds");
  }
}

TEST(EnvironmentCeiling, RefusesRelativeEntries) {
  for (const char* entry : {"docs", "./docs", "../x", ".", "@cwd", "@system"}) {
    const Error error = refusal({{"CORDON_SANDBOX_READONLY_PATHS", std::string("/ok:") + entry}});
    EXPECT_EQ(error.what, "CORDON_SANDBOX_READONLY_PATHS holds the relative path \"" +
                              std::string(entry) + "\"");
  }
}

TEST(EnvironmentCeiling, RefusesEntriesNoListMayHold) {
  EXPECT_EQ(refusal({{"CORDON_SANDBOX_READONLY_PATHS", "~root/x"}}).what,
            "CORDON_SANDBOX_READONLY_PATHS: \"~root/x\" names another user's home");
  EXPECT_EQ(refusal({{"CORDON_SANDBOX_READWRITE_PATHS", "~/../x"}}).what,
            "CORDON_SANDBOX_READWRITE_PATHS: \"~/../x\" leaves the home directory by \"..\"");
  EXPECT_EQ(refusal({{"CORDON_SANDBOX_READWRITE_PATHS", "/a\nb"}}).what,
            "CORDON_SANDBOX_READWRITE_PATHS: path \"/a\\x0ab\" holds a control byte");
}

TEST(EnvironmentCeiling, RefusesAWritableRootHoweverSpelt) {
  for (const char* root : {"/", "//", "/.", "/..", "/./../"}) {
    EXPECT_EQ(refusal({{"CORDON_SANDBOX_READWRITE_PATHS", root}}).what,
              "CORDON_SANDBOX_READWRITE_PATHS: the root directory is never writable");
    EXPECT_EQ(ceiling_of({{"CORDON_SANDBOX_READONLY_PATHS", root}}).policy.fs.read.size(), 1U);
  }
}

}  // namespace
}  // namespace cordon
