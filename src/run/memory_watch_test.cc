#include "run/memory_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace cordon {
namespace {

constexpr std::size_t kPart = std::size_t{16} * 1024 * 1024;
constexpr std::size_t kSlack = kPart / 2;  // a child's own pages

// A process that does something, says so, and stays until the test is over.
class Holder {
 public:
  template <typename Body>
  explicit Holder(Body body) {
    int ready[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    const Fd reader(ready[0]);
    Fd writer(ready[1]);
    pid_ = ::fork();
    if (pid_ == 0) {
      const char done = body() ? 'y' : 'n';
      (void)!::write(writer.get(), &done, 1);
      for (;;) ::pause();
    }
    writer.reset();
    char done = 'n';
    EXPECT_EQ(::read(reader.get(), &done, 1), 1);
    EXPECT_EQ(done, 'y');
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

bool hold_memory_file() {
  const int fd = ::memfd_create("test", 0);
  return fd >= 0 && ::fallocate(fd, 0, 0, kPart) == 0;
}

TEST(MemoryWatch, CountsNothingWhereNothingIs) {
  MemoryWatch watch(::getpid());
  EXPECT_EQ(watch.look(), 0U);
}

TEST(MemoryWatch, CountsAnOpenMemoryFileOncePerFile) {
  const Holder one([] { return hold_memory_file(); });
  MemoryWatch watch(::getpid());
  const std::uint64_t alone = watch.look();
  EXPECT_GE(alone, kPart);
  EXPECT_LT(alone, kPart + kSlack);
  const Holder copies([] {
    const int fd = ::memfd_create("test", 0);
    for (int i = 0; i < 20; ++i) ::dup(fd);
    return ::fallocate(fd, 0, 0, kPart) == 0 && ::fork() >= 0;
  });
  EXPECT_GE(watch.look(), 2 * kPart);
  EXPECT_LT(watch.look(), 2 * kPart + 3 * kSlack);
}

TEST(MemoryWatch, CountsChildrenOfEveryThread) {
  std::thread parent([] {
    const Holder holder([] { return hold_memory_file(); });
    MemoryWatch watch(::getpid());
    EXPECT_GE(watch.look(), kPart);
  });
  parent.join();
}

// A look has a bound; what lies behind it is found by the looks that follow.
TEST(MemoryWatch, FindsAMemoryFileBehindManyDescriptors) {
  const auto crowd = [] {
    for (int i = 0; i < 900; ++i) {
      if (::dup(0) < 0 && ::dup(1) < 0 && ::open("/dev/null", O_RDONLY) < 0) return false;
    }
    return true;
  };
  std::vector<std::unique_ptr<Holder>> holders;
  for (int i = 0; i < 25; ++i) holders.push_back(std::make_unique<Holder>(crowd));
  const Holder last([] { return hold_memory_file(); });
  MemoryWatch watch(::getpid());
  std::uint64_t seen = 0;
  int looks = 0;
  while (seen < kPart && looks < 5) {
    seen = watch.look();
    ++looks;
  }
  EXPECT_GE(seen, kPart);
  // What was found stays counted while the watch is busy elsewhere.
  for (int i = 0; i < 3; ++i) EXPECT_GE(watch.look(), kPart);
}

}  // namespace
}  // namespace cordon
