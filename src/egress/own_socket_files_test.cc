#include "egress/local_sockets.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace cordon {
namespace {

class OwnSocketFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "cordon-made.XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  // A socket file that nobody is bound to; the identity is what counts.
  std::string make(const std::string& name) const {
    std::string path = directory_ + "/" + name;
    EXPECT_EQ(::mknod(path.c_str(), S_IFSOCK | 0600, 0), 0);
    return path;
  }
  static Fd open(const std::string& path) { return Fd(::open(path.c_str(), O_PATH | O_CLOEXEC)); }
  static FileId id_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return {status.st_dev, status.st_ino};
  }

  std::string directory_;
  OwnSocketFiles made_;
};

TEST_F(OwnSocketFilesTest, FollowsTheFileAndNotTheName) {
  const std::string own = make("own");
  const std::string other = make("other");
  ASSERT_TRUE(made_.add(open(own)));
  EXPECT_TRUE(made_.holds(id_of(own)));
  EXPECT_FALSE(made_.holds(id_of(other)));
  const std::string moved = directory_ + "/moved";
  ASSERT_EQ(::rename(own.c_str(), moved.c_str()), 0);
  ASSERT_EQ(::rename(other.c_str(), own.c_str()), 0);
  EXPECT_TRUE(made_.holds(id_of(moved)));
  EXPECT_FALSE(made_.holds(id_of(own)));
}

TEST_F(OwnSocketFilesTest, KeepsARemovedFilesNumberFromAnother) {
  const std::string own = make("own");
  const FileId id = id_of(own);
  ASSERT_TRUE(made_.add(open(own)));
  ASSERT_EQ(::unlink(own.c_str()), 0);
  for (int i = 0; i < 64; ++i) EXPECT_NE(id_of(make("new" + std::to_string(i))), id);
}

TEST_F(OwnSocketFilesTest, IsBoundedAndMakesRoomForWhatWasRemoved) {
  for (std::size_t i = 0; i < OwnSocketFiles::kMost; ++i) {
    ASSERT_TRUE(made_.add(open(make(std::to_string(i)))));
  }
  const std::string late = make("late");
  EXPECT_FALSE(made_.add(open(late)));
  EXPECT_FALSE(made_.holds(id_of(late)));
  ASSERT_EQ(::unlink((directory_ + "/7").c_str()), 0);
  EXPECT_TRUE(made_.add(open(late)));
  EXPECT_TRUE(made_.holds(id_of(late)));
}

TEST_F(OwnSocketFilesTest, RefusesWhatIsNoDescriptor) { EXPECT_FALSE(made_.add(Fd())); }

}  // namespace
}  // namespace cordon
