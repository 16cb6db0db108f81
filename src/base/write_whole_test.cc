#include "base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>

namespace cordon {
namespace {

TEST(WriteWhole, GoesOnUntilEverythingIsWritten) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd from(ends[0]);
  Fd to(ends[1]);
  const std::string text(std::size_t{1} << 20, 'x');  // sixteen times what a pipe holds
  std::string got;
  std::thread reader([&] {
    char block[4096];
    for (ssize_t size = 0; (size = ::read(from.get(), block, sizeof block)) > 0;) {
      got.append(block, static_cast<std::size_t>(size));
    }
  });
  EXPECT_EQ(write_whole(to.get(), text), 0);
  to.reset();
  reader.join();
  EXPECT_EQ(got, text);
}

TEST(WriteWhole, SaysWhyItFailed) {
  EXPECT_EQ(write_whole(-1, "text"), EBADF);
  EXPECT_EQ(write_whole(-1, ""), 0);
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full.valid());
  EXPECT_EQ(write_whole(full.get(), "text"), ENOSPC);
}

}  // namespace
}  // namespace cordon
