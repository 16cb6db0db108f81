#include "run/memory_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
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
constexpr std::size_t kSlack = kPart / 2;  // copies of one process differ by a few pages

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
  EXPECT_EQ(watch.look().bytes, 0U);
}

TEST(MemoryWatch, CountsAnOpenMemoryFileOncePerFile) {
  MemoryWatch watch(::getpid());
  const Holder idle([] { return true; });
  const std::uint64_t own = watch.look().bytes;  // what a copy of this process has by itself
  const Holder one([] { return hold_memory_file(); });
  EXPECT_GE(watch.look().bytes, 2 * own + kPart - kSlack);
  EXPECT_LT(watch.look().bytes, 2 * own + kPart + kSlack);
  const Holder copies([] {
    const int fd = ::memfd_create("test", 0);
    for (int i = 0; i < 20; ++i) {
      if (::dup(fd) < 0) return false;
    }
    const bool held = ::fallocate(fd, 0, 0, kPart) == 0;
    const pid_t holder = ::getpid();
    const pid_t heir = ::fork();
    if (heir == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      while (::getppid() == holder) ::pause();
      ::_exit(0);
    }
    return held && heir > 0;
  });
  EXPECT_GE(watch.look().bytes, 4 * own + 2 * kPart - kSlack);
  EXPECT_LT(watch.look().bytes, 4 * own + 2 * kPart + kSlack);
}

TEST(MemoryWatch, CountsChildrenOfEveryThread) {
  std::thread parent([] {
    const Holder holder([] { return true; });
    EXPECT_GT(MemoryWatch(::getpid()).look().bytes, 0U);
  });
  parent.join();
}

// A look has a bound; what lies behind it is found by the looks that follow.
TEST(MemoryWatch, FindsAMemoryFileBehindManyDescriptors) {
  const auto crowd = [] {
    for (int i = 0; i < 900; ++i) {
      if (::open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) return false;
    }
    return true;
  };
  MemoryWatch watch(::getpid());
  std::vector<std::unique_ptr<Holder>> holders;
  holders.push_back(std::make_unique<Holder>(crowd));
  const std::uint64_t own = watch.look().bytes;
  for (int i = 0; i < 24; ++i) holders.push_back(std::make_unique<Holder>(crowd));
  const std::uint64_t before = watch.look().bytes;
  const Holder last([] { return hold_memory_file(); });
  const std::uint64_t with_file = before + own + kPart - kSlack;
  int looks = 0;
  while (watch.look().bytes < with_file && looks < 5) ++looks;
  EXPECT_LT(looks, 5);
  // What was found stays counted while the watch is busy elsewhere.
  for (int i = 0; i < 3; ++i) EXPECT_GE(watch.look().bytes, with_file);
}

}  // namespace
}  // namespace cordon
