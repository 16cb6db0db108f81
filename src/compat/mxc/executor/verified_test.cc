#include "compat/mxc/executor/examine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <type_traits>

#include "base/sha256.h"
#include "compat/mxc/executor/executor_init.h"
#include "host/inspect.h"

namespace cordon::mxc {
namespace {

// Only a comparison with a pin makes one, and nothing starts an executor without one.
static_assert(!std::is_default_constructible_v<VerifiedExecutor>);
static_assert(!std::is_constructible_v<VerifiedExecutor, Fd>);
static_assert(!std::is_copy_constructible_v<VerifiedExecutor>);
static_assert(std::is_invocable_v<decltype(keep), const VerifiedExecutor&, const InitStart&>);
static_assert(!std::is_invocable_v<decltype(keep), int, const InitStart&>);

class MxcVerified : public ::testing::Test {
 protected:
  std::string make(const std::string& content) {
    std::string path = ::testing::TempDir() + "cordon-executor-" + std::to_string(::getpid());
    const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755));
    EXPECT_EQ(::write(file.get(), content.data(), content.size()),
              static_cast<ssize_t>(content.size()));
    made_ = path;
    return path;
  }
  void TearDown() override { ::unlink(made_.c_str()); }

 private:
  std::string made_;
};

TEST_F(MxcVerified, KeepsTheBytesThatWereCompared) {
  const std::string path = make("honest");
  const auto executor = verify_executor(path, sha256_hex("honest"));
  ASSERT_TRUE(executor) << message(executor.error());
  make("other!");
  ASSERT_EQ(::lseek(executor->descriptor(), 0, SEEK_SET), 0);
  EXPECT_EQ(read_all(executor->descriptor(), 100), "honest");
  // Nobody can change them, this process neither.
  EXPECT_LT(::pwrite(executor->descriptor(), "x", 1, 0), 0);
  EXPECT_EQ(errno, EPERM);
  EXPECT_LT(::ftruncate(executor->descriptor(), 0), 0);
  EXPECT_EQ(digest_of(path), sha256_hex("other!"));
}

TEST_F(MxcVerified, NamesBothDigests) {
  const std::string path = make("honesu");
  const auto executor = verify_executor(path, sha256_hex("honest"));
  ASSERT_FALSE(executor);
  EXPECT_EQ(executor.error().kind, ErrorKind::Untrusted);
  const std::string& what = executor.error().what;
  EXPECT_NE(what.find("SHA256 expected " + sha256_hex("honest")), std::string::npos) << what;
  EXPECT_NE(what.find("actual " + sha256_hex("honesu")), std::string::npos) << what;
}

TEST_F(MxcVerified, AMissingFileIsUntrusted) {
  const auto executor = verify_executor("/nonexistent/lxc-exec", sha256_hex("honest"));
  ASSERT_FALSE(executor);
  EXPECT_EQ(executor.error().kind, ErrorKind::Untrusted);
  EXPECT_NE(executor.error().what.find("not found"), std::string::npos);
  EXPECT_FALSE(verify_executor("/dev/zero", sha256_hex("honest")));
}

}  // namespace
}  // namespace cordon::mxc
