// What runs inside a sandbox and times itself, so that the launch is not counted. Prints
// nanoseconds per operation:  bench_load getppid|open|walk N [PATH] | spawn N PROGRAM... |
// start N PROGRAM..., which keeps the variables ; or only waits: bench_load children N
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

int visit(const char*, const struct stat*, int, struct FTW*) { return 0; }

template <typename Operation>
int timed(long count, Operation&& operation) {
  const double begin = now();
  for (long i = 0; i < count; ++i) {
    if (!operation()) return 1;
  }
  std::printf("%.1f\n", (now() - begin) / static_cast<double>(count));
  return 0;
}

bool open_close(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  return fd >= 0 && close(fd) == 0;
}

bool spawn(char** argv, char** variables) {
  pid_t pid = 0;
  int status = 0;
  return posix_spawn(&pid, argv[0], nullptr, nullptr, argv, variables) == 0 &&
         waitpid(pid, &status, 0) == pid && status == 0;
}

int children(long count) {
  for (long i = 1; i < count; ++i) {
    if (fork() == 0) break;
  }
  pause();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* what = argv[1];
  const long count = std::atol(argv[2]);
  if (std::strcmp(what, "children") == 0) return children(count);
  if (std::strcmp(what, "getppid") == 0) {
    return timed(count, [] { return syscall(SYS_getppid) >= 0; });
  }
  if (argc < 4) return 2;
  if (std::strcmp(what, "open") == 0) return timed(count, [&] { return open_close(argv[3]); });
  if (std::strcmp(what, "walk") == 0) {
    return timed(count, [&] { return nftw(argv[3], visit, 32, FTW_PHYS) == 0; });
  }
  char* none[] = {nullptr};
  if (std::strcmp(what, "spawn") == 0) return timed(count, [&] { return spawn(argv + 3, none); });
  if (std::strcmp(what, "start") == 0)
    return timed(count, [&] { return spawn(argv + 3, environ); });
  return 2;
}
