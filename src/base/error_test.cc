#include "cordon/error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

namespace cordon {
namespace {

constexpr ErrorKind kAll[] = {ErrorKind::Unavailable, ErrorKind::Untrusted, ErrorKind::Unsupported,
                              ErrorKind::Policy,      ErrorKind::Setup,     ErrorKind::Command,
                              ErrorKind::Audit,       ErrorKind::Usage};

TEST(Error, HasOneNamePerKind) {
  std::vector<std::string_view> codes;
  for (const ErrorKind kind : kAll) codes.push_back(name_of(kind));
  EXPECT_EQ(codes, (std::vector<std::string_view>{"unavailable", "untrusted", "unsupported",
                                                  "policy", "setup", "command", "audit", "usage"}));
}

TEST(Error, HasOneStableCodePerKind) {
  std::vector<std::string_view> codes;
  for (const ErrorKind kind : kAll) codes.push_back(code(kind));
  EXPECT_EQ(codes, (std::vector<std::string_view>{"E_UNAVAILABLE", "E_UNTRUSTED", "E_UNSUPPORTED",
                                                  "E_POLICY", "E_SETUP", "E_COMMAND", "E_AUDIT",
                                                  "E_USAGE"}));
}

TEST(Error, HasOneTextPerKindThatNamesNoPath) {
  std::set<std::string_view> texts;
  for (const ErrorKind kind : kAll) {
    texts.insert(safe_text(kind));
    EXPECT_EQ(safe_text(kind).find('/'), std::string_view::npos);
  }
  EXPECT_EQ(texts.size(), std::size(kAll));
}

TEST(ErrorMessage, PutsThePlaceFirstAndTheSystemsReasonLast) {
  Error error = policy_error("unknown key \"wrote\" in [fs]", "did you mean \"write\"?");
  EXPECT_EQ(message(error), "unknown key \"wrote\" in [fs]");
  error.place = Place{"policy.toml", 12, 9};
  EXPECT_EQ(message(error), "policy.toml:12:9: unknown key \"wrote\" in [fs]");
  error.place = Place{"policy.toml", 0, 0};
  EXPECT_EQ(message(error), "policy.toml: unknown key \"wrote\" in [fs]");
  EXPECT_EQ(message(setup_error("cannot make a user namespace", EPERM)),
            "cannot make a user namespace (Operation not permitted)");
}

TEST(ErrorMessage, NamesTheOperationThatFailed) {
  Error error = setup_error("mount failed", ENOENT);
  error.operation = "bind /usr";
  EXPECT_EQ(message(error), "bind /usr: mount failed (No such file or directory)");
}

TEST(ErrorMessage, StaysOnOneLineWhateverTheFileIsCalled) {
  Error error = policy_error("bad");
  error.place = Place{"a\n\x1B[2J.toml", 1, 2};
  EXPECT_EQ(message(error), "a\\x0a\\x1b[2J.toml:1:2: bad");
}

TEST(Error, ConstructorsSetTheKindAndTheStatusOfARefusal) {
  EXPECT_EQ(policy_error("x").kind, ErrorKind::Policy);
  EXPECT_EQ(usage_error("x", "y").kind, ErrorKind::Usage);
  EXPECT_EQ(usage_error("x", "y").hint, "y");
  EXPECT_EQ(setup_error("x", EIO).error_number, EIO);
  EXPECT_EQ(setup_error("x", EIO).exit_status, 125);
}

}  // namespace
}  // namespace cordon
