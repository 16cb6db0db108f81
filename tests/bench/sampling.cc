#include "sampling.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>

namespace bench {
namespace {

std::vector<std::string> environment_of_commands = {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C"};

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

unsigned runnable() {
  char text[64] = {};
  const int fd = ::open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
  if (fd < 0 || ::read(fd, text, sizeof text - 1) < 0) std::abort();
  ::close(fd);
  unsigned count = 0;
  if (std::sscanf(text, "%*f %*f %*f %u/", &count) != 1) std::abort();
  return count;
}

}  // namespace

double now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

double Samples::percentile(double share) const {
  if (values.empty()) return 0;
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const double place = share * static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::lround(place))];
}

double Samples::median() const { return percentile(0.5); }

std::string summary(const Samples& samples) {
  return fmt::format("{:.0f} (p95 {:.0f}, p99 {:.0f})", samples.median(), samples.percentile(0.95),
                     samples.percentile(0.99));
}

void use_home(const std::string& home) { environment_of_commands.push_back("HOME=" + home); }

bool wait_for_quiet() {
  constexpr double kLongestWait = 30'000;
  const double until = now() + kLongestWait;
  unsigned quiet = 0;
  while (quiet < 3) {
    if (now() > until) return false;
    quiet = runnable() <= 1 ? quiet + 1 : 0;
    const timespec pause{0, 150'000};
    ::nanosleep(&pause, nullptr);
  }
  return true;
}

double spawn_once(const Command& command) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int fd = 0; fd < 3; ++fd) {
    posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", fd == 0 ? O_RDONLY : O_WRONLY, 0);
  }
  if (!command.directory.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, command.directory.c_str());
  }
  std::vector<std::string> words = command.argv;
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> environment = pointers(environment_of_commands);
  pid_t pid = 0;
  int status = 0;
  const double begin = now();
  const int error =
      ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environment.data());
  const bool reaped = error == 0 && ::waitpid(pid, &status, 0) == pid;
  const double end = now();
  posix_spawn_file_actions_destroy(&actions);
  if (!reaped || status != 0) {
    std::fprintf(stderr, "launch: %s failed (%s, wait status %d): %s\n", command.name.c_str(),
                 std::strerror(error), status, fmt::format("{}", fmt::join(words, " ")).c_str());
    std::exit(1);
  }
  return end - begin;
}

Measured interleave(const std::vector<Command>& commands, unsigned rounds) {
  static std::mt19937 generator(std::random_device{}());
  Measured measured;
  for (const Command& command : commands) measured.commands.push_back({command.name, {}});
  std::vector<std::size_t> order(commands.size());
  std::iota(order.begin(), order.end(), 0U);
  for (unsigned round = 0; round <= rounds; ++round) {
    std::shuffle(order.begin(), order.end(), generator);
    for (const std::size_t which : order) {
      if (!wait_for_quiet()) ++measured.disturbed;
      const double time = spawn_once(commands[which]);
      if (round > 0) measured.commands[which].values.push_back(time);
    }
  }
  return measured;
}

}  // namespace bench
