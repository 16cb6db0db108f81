#include <gmock/gmock.h>

#include "host/test_tree.h"

namespace cordon {
namespace {

using ::testing::HasSubstr;
using testing::TestTree;

TEST(ReadTrustedFile, ReadsAFileOnlyItsOwnerMayWrite) {
  const TestTree tree;
  const std::string path = tree.file("policy.toml", "version = 1\n");
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  const auto text = read_trusted_file(path, tree.caller());
  ASSERT_TRUE(text) << text.error().what;
  EXPECT_EQ(*text, "version = 1\n");
}

TEST(ReadTrustedFile, RefusesAFileThatOthersMayWrite) {
  const TestTree tree;
  const std::string path = tree.file("policy.toml");
  for (const mode_t mode : {0664U, 0646U, 0666U}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    const auto text = read_trusted_file(path, tree.caller());
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().kind, ErrorKind::Policy);
    EXPECT_THAT(text.error().hint, HasSubstr("chmod"));
  }
}

TEST(ReadTrustedFile, RefusesASymlink) {
  const TestTree tree;
  tree.file("real");
  tree.link("policy.toml", "real");
  const auto text = read_trusted_file(tree.at("policy.toml"), tree.caller());
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().what, HasSubstr("symlink"));
}

// FS42: a FIFO with no writer would hold the launch for ever.
TEST(ReadTrustedFile, RefusesAFifoWithoutWaiting) {
  const TestTree tree;
  ASSERT_EQ(::mkfifo(tree.at("policy.toml").c_str(), 0600), 0);
  EXPECT_FALSE(read_trusted_file(tree.at("policy.toml"), tree.caller()));
}

TEST(ReadTrustedFile, RefusesAFileOfSomeoneElse) {
  const TestTree tree;
  const std::string path = tree.file("policy.toml");
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  Caller other = tree.caller();
  ASSERT_TRUE(read_trusted_file(path, other));
  if (::getuid() == 0) {
    ASSERT_EQ(::chown(path.c_str(), 1234, 1234), 0);
  } else {
    other.uid += 1;
  }
  EXPECT_FALSE(read_trusted_file(path, other));
}

TEST(ReadTrustedFile, RefusesMoreThanAMebibyte) {
  const TestTree tree;
  constexpr std::size_t kMebibyte = std::size_t{1024} * 1024;
  const std::string path = tree.file("policy.toml", std::string(kMebibyte + 1, '#'));
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  EXPECT_FALSE(read_trusted_file(path, tree.caller()));
  tree.file("policy.toml", std::string(kMebibyte, '#'));
  EXPECT_TRUE(read_trusted_file(path, tree.caller()));
}

TEST(ReadTrustedFile, NamesAMissingFile) {
  const TestTree tree;
  const auto text = read_trusted_file(tree.at("gone.toml"), tree.caller());
  ASSERT_FALSE(text);
  ASSERT_TRUE(text.error().place);
  EXPECT_EQ(text.error().place->file, tree.at("gone.toml"));
}

}  // namespace
}  // namespace cordon
