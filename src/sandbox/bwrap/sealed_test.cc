#include "sandbox/bwrap/bwrap_backend.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "host/inspect.h"

namespace cordon::bwrap {
namespace {

TEST(Sealed, CanBeReadAndNeverChanged) {
  const std::string content(100'000, 'x');
  const auto file = sealed_text(content);
  ASSERT_TRUE(file) << message(file.error());
  EXPECT_EQ(read_all(file->get(), content.size()), content);
  EXPECT_EQ(::pwrite(file->get(), "y", 1, 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(file->get(), 0), -1);
  EXPECT_EQ(::ftruncate(file->get(), 200'000), -1);
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_WRITE, MAP_SHARED, file->get(), 0), MAP_FAILED);
  // Nor through another descriptor of it.
  const std::string again = "/proc/self/fd/" + std::to_string(file->get());
  const Fd other(::open(again.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(other.valid());
  EXPECT_EQ(::write(other.get(), "y", 1), -1);
  EXPECT_EQ(::fcntl(file->get(), F_ADD_SEALS, F_SEAL_SHRINK), -1);
}

TEST(Sealed, HasNoProgramWhereNoneLiesBeside) {
  // The tests are built into a directory of their own.
  const auto inside = sealed_inside();
  ASSERT_FALSE(inside);
  EXPECT_EQ(inside.error().kind, ErrorKind::Unavailable);
}

}  // namespace
}  // namespace cordon::bwrap
