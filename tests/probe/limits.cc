// Attempts that use up a resource. Each stops by itself at its first refusal or at its argument.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "probe.h"

namespace probe {
namespace {

constexpr long kMegabyte = 1 << 20;

Verdict reached(bool all, long count) { return {all, all ? 0 : errno, std::to_string(count)}; }

// Children wait for their parent's end and die with it.
Verdict fork_until(const Arguments& a) {
  const long wanted = number(a[0]);
  std::vector<pid_t> children;
  children.reserve(static_cast<std::size_t>(wanted));
  int error = 0;
  while (static_cast<long>(children.size()) < wanted) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
      alarm(20);
      while (true) pause();
    }
    if (child < 0) {
      error = errno;
      break;
    }
    children.push_back(child);
  }
  for (const pid_t child : children) kill(child, SIGKILL);
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  errno = error;
  return reached(error == 0, static_cast<long>(children.size()));
}

// Two children from every process, for SECONDS, whatever fork answers. Only for use inside a
// sandbox whose limit was proved first.
Verdict fork_without_end(const Arguments& a) {
  alarm(static_cast<unsigned>(number(a[0])));
  const time_t end = time(nullptr) + number(a[0]);
  while (time(nullptr) < end) {
    if (fork() == 0) alarm(static_cast<unsigned>(number(a[0])));
  }
  return done();
}

Verdict children(const Arguments& a) {
  const long wanted = number(a[0]);
  for (long i = 0; i < wanted; ++i) {
    const pid_t child = fork();
    if (child < 0) return reached(false, i);
    if (child == 0) _exit(7);
    int status = 0;
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7) return reached(false, i);
  }
  return reached(true, wanted);
}

// Orphans that end at once become the business of the first process.
Verdict zombies(const Arguments& a) {
  for (long i = number(a[0]); i > 0; --i) {
    const pid_t middle = fork();
    if (middle == 0) {
      if (fork() == 0) _exit(0);
      _exit(0);
    }
    if (middle < 0) return refused("fork");
    waitpid(middle, nullptr, 0);
  }
  const timespec moment = {0, 200000000};
  nanosleep(&moment, nullptr);
  long left = 0;
  for (int pid = 1; pid < 32768; ++pid) {
    const std::string stat = read_whole("/proc/" + std::to_string(pid) + "/stat");
    if (stat.find(") Z ") != std::string::npos) ++left;
  }
  return {left > 0, 0, std::to_string(left)};
}

Verdict use_memory(const Arguments& a) {
  const long wanted = number(a[0]);
  for (long i = 0; i < wanted; ++i) {
    void* page =
        mmap(nullptr, kMegabyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return reached(false, i);
    std::memset(page, 1, kMegabyte);
  }
  if (a.size() > 1) sleep(static_cast<unsigned>(number(a[1])));
  return reached(true, wanted);
}

Verdict use_shared_memory(const Arguments& a) {
  const long wanted = number(a[0]);
  const int fd = memfd_create("probe", MFD_CLOEXEC);
  if (fd < 0) return refused("memfd_create");
  const std::string block(kMegabyte, 'm');
  for (long i = 0; i < wanted; ++i) {
    if (write(fd, block.data(), block.size()) != kMegabyte) return reached(false, i);
  }
  return reached(true, wanted);
}

Verdict lock_memory(const Arguments& a) {
  const auto size = static_cast<std::size_t>(number(a[0]) * kMegabyte);
  void* page = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return refused("mmap");
  return by_result(mlock(page, size));
}

// The file has no name while it grows, so nothing stays behind.
Verdict fill(const Arguments& a) {
  std::signal(SIGXFSZ, SIG_IGN);
  const int fd = open(a[0].c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return refused("open");
  unlink(a[0].c_str());
  const std::string block(kMegabyte, 'f');
  const long wanted = number(a[1]);
  for (long i = 0; i < wanted; ++i) {
    const ssize_t put = write(fd, block.data(), block.size());
    if (put < 0) return reached(false, i);
    if (put != kMegabyte && write(fd, block.data(), 1) < 0) return reached(false, i);
  }
  return reached(true, wanted);
}

Verdict flood(const Arguments& a) {
  const int fd = a.size() > 1 && a[1] == "stderr" ? STDERR_FILENO : STDOUT_FILENO;
  const std::string block(65536, 'o');
  long left = number(a[0]);
  while (left > 0) {
    const auto part = static_cast<std::size_t>(std::min<long>(left, 65536));
    const ssize_t put = write(fd, block.data(), part);
    if (put < 0) return refused();
    left -= put;
  }
  return done();
}

Verdict spin(const Arguments& a) {
  const time_t end = time(nullptr) + number(a[0]);
  while (time(nullptr) < end) continue;
  return done();
}

Verdict exhaust_descriptors(const Arguments&) {
  long count = 0;
  while (count < 2000000) {
    if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) return reached(false, count);
    ++count;
  }
  return reached(true, count);
}

// Every thread lasts until no more are made, however slowly that goes.
pthread_mutex_t being_made = PTHREAD_MUTEX_INITIALIZER;

void* wait_in_thread(void*) {
  pthread_mutex_lock(&being_made);
  pthread_mutex_unlock(&being_made);
  return nullptr;
}

Verdict threads(const Arguments& a) {
  const long wanted = number(a[0]);
  std::vector<pthread_t> started;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 65536);
  int error = 0;
  pthread_mutex_lock(&being_made);
  for (long i = 0; i < wanted && error == 0; ++i) {
    pthread_t thread{};
    error = pthread_create(&thread, &attributes, wait_in_thread, nullptr);
    if (error == 0) started.push_back(thread);
  }
  pthread_mutex_unlock(&being_made);
  for (const pthread_t thread : started) pthread_join(thread, nullptr);
  errno = error;
  return reached(error == 0, static_cast<long>(started.size()));
}

Verdict inodes(const Arguments& a) {
  const long wanted = number(a[0]);
  for (long i = 0; i < wanted; ++i) {
    const int fd = open((a[1] + "/n" + std::to_string(i)).c_str(), O_WRONLY | O_CREAT, 0600);
    if (fd < 0) return reached(false, i);
    close(fd);
  }
  return reached(true, wanted);
}

Verdict deep_directories(const Arguments& a) {
  const long wanted = number(a[0]);
  if (chdir(a[1].c_str()) < 0) return refused("chdir");
  for (long i = 0; i < wanted; ++i) {
    if (mkdir("d", 0700) < 0 || chdir("d") < 0) return reached(false, i);
  }
  return reached(true, wanted);
}

Verdict core_limit(const Arguments&) {
  rlimit limit{};
  if (getrlimit(RLIMIT_CORE, &limit) < 0) return refused();
  return {limit.rlim_cur != 0, 0, std::to_string(limit.rlim_max)};
}

Verdict show_limits(const Arguments&) {
  std::string text;
  const struct {
    const char* name;
    __rlimit_resource_t which;
  } known[] = {{"nofile", RLIMIT_NOFILE},   {"nproc", RLIMIT_NPROC},      {"data", RLIMIT_DATA},
               {"fsize", RLIMIT_FSIZE},     {"core", RLIMIT_CORE},        {"cpu", RLIMIT_CPU},
               {"memlock", RLIMIT_MEMLOCK}, {"msgqueue", RLIMIT_MSGQUEUE}};
  for (const auto& entry : known) {
    rlimit limit{};
    getrlimit(entry.which, &limit);
    text +=
        (text.empty() ? "" : " ") + std::string(entry.name) + "=" + std::to_string(limit.rlim_max);
  }
  return done(text);
}

constexpr Attempt kAttempts[] = {
    {"forkbomb", "N", 1, fork_until},
    {"forkbomb-wild", "SECONDS", 1, fork_without_end},
    {"children", "N", 1, children},
    {"zombies", "N", 1, zombies},
    {"memory", "MB [SECONDS]", 1, use_memory},
    {"memfd", "MB", 1, use_shared_memory},
    {"mlock", "MB", 1, lock_memory},
    {"fill", "PATH MB", 2, fill},
    {"output", "BYTES [stderr]", 1, flood},
    {"spin", "SECONDS", 1, spin},
    {"fds-exhaust", "", 0, exhaust_descriptors},
    {"threads", "N", 1, threads},
    {"inodes", "N DIR", 2, inodes},
    {"deep-dirs", "N DIR", 2, deep_directories},
    {"core-limit", "", 0, core_limit},
    {"limits", "", 0, show_limits},
};

}  // namespace

std::span<const Attempt> limit_attempts() { return kAttempts; }

}  // namespace probe
