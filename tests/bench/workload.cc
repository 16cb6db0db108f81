#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "cordon/runner.h"
#include "sections.h"

namespace bench {
namespace {

// What the load prints, in nanoseconds per operation.
std::optional<double> timed_inside(const std::vector<std::string>& argv) {
  std::string line;
  for (const std::string& word : argv) line += "'" + word + "' ";
  line += "2>/dev/null";
  std::FILE* answer = ::popen(line.c_str(), "re");
  if (answer == nullptr) return std::nullopt;
  double value = 0;
  const bool read = std::fscanf(answer, "%lf", &value) == 1;
  const int status = ::pclose(answer);
  if (!read || status != 0) return std::nullopt;
  return value;
}

struct Load {
  std::string quantity;
  std::vector<std::string> words;
};

// Lower quartiles: what is slower was disturbed.
struct Pair {
  double bare;
  double inside;
};

std::optional<Pair> measure_pair(const Subject& subject, const std::vector<std::string>& first,
                                 const std::vector<std::string>& second) {
  const unsigned rounds = subject.rounds >= 100 ? 12 : 3;
  Samples bare;
  Samples inside;
  for (unsigned round = 0; round < rounds; ++round) {
    wait_for_quiet();
    const auto first_time = timed_inside(first);
    wait_for_quiet();
    const auto second_time = timed_inside(second);
    if (!first_time || !second_time) return std::nullopt;
    bare.values.push_back(*first_time);
    inside.values.push_back(*second_time);
  }
  return Pair{bare.percentile(0.25), inside.percentile(0.25)};
}

std::vector<std::string> bare_words(const Subject& subject, const Load& load) {
  std::vector<std::string> words = {subject.load};
  words.insert(words.end(), load.words.begin(), load.words.end());
  return words;
}

std::vector<std::string> inside_words(const Subject& subject, const Load& load,
                                      const std::vector<std::string>& options) {
  std::vector<std::string> words = {subject.cordon, "run", "--policy", "strict",
                                    "--cwd",        "/",   "--read",   subject.load};
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("--");
  const std::vector<std::string> plain_words = bare_words(subject, load);
  words.insert(words.end(), plain_words.begin(), plain_words.end());
  return words;
}

std::optional<Pair> measure_load(const Subject& subject, const Load& load) {
  return measure_pair(subject, bare_words(subject, load), inside_words(subject, load, {}));
}

// A process's share of the memory that is mapped, and how much of it is no file's.
struct Memory {
  double all = 0;
  double own = 0;
};

std::optional<Memory> memory_kib(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/smaps_rollup", pid));
  Memory memory;
  int found = 0;
  for (std::string line; std::getline(file, line);) {
    found += std::sscanf(line.c_str(), "Pss: %lf", &memory.all) == 1;
    found += std::sscanf(line.c_str(), "Pss_Anon: %lf", &memory.own) == 1;
  }
  return found == 2 ? std::optional(memory) : std::nullopt;
}

pid_t first_child(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/children", pid, pid));
  pid_t child = 0;
  file >> child;
  return child;
}

// From asking a run to end until the whole tree is gone, in microseconds.
std::optional<double> cancel_time(const Subject& subject, const std::string& processes) {
  cordon::Request request;
  request.argv = {subject.load, "children", processes};
  auto policy = cordon::Policy::preset("strict");
  if (!policy) return std::nullopt;
  policy->limits.pids = 512;
  policy->fs.read.push_back({subject.load, {}});
  request.policy = std::move(*policy);
  request.cancel = cordon::Cancel();
  double asked = 0;
  std::thread other([&] {
    ::usleep(40'000);
    wait_for_quiet();
    asked = now();
    request.cancel->cancel();
  });
  const cordon::Report report = cordon::Runner().run(request);
  const double gone = now();
  other.join();
  if (report.error) return std::nullopt;
  return gone - asked;
}

}  // namespace

void measure_steady_state(const Subject& subject, Page& page) {
  const std::string few = subject.rounds >= 100 ? "200000" : "2000";
  const auto calls = measure_load(subject, {"", {"getppid", few}});
  if (!calls) {
    page.notes.push_back("steady state: the load did not run inside, not measured");
    return;
  }
  page.figures.push_back(at_most("one plain system call, added", calls->inside - calls->bare, 35,
                                 "ns", fmt::format("bare {:.0f} ns", calls->bare)));
  const Load loads[] = {
      {"opening and closing a file", {"open", few, "/usr/share/zoneinfo"}},
      {"walking a tree", {"walk", subject.rounds >= 100 ? "5" : "1", "/usr/share/doc"}},
      {"starting python3 inside", {"spawn", "5", "/usr/bin/python3", "-c", "pass"}},
  };
  constexpr double kGates[] = {1.35, 1.10, 1.02};
  for (std::size_t i = 0; i < std::size(loads); ++i) {
    const auto found = measure_load(subject, loads[i]);
    if (!found) {
      page.notes.push_back(loads[i].quantity + ": did not run, not measured");
      continue;
    }
    page.figures.push_back(
        at_most(loads[i].quantity + ", to bare", found->inside / found->bare, kGates[i], "x", ""));
  }
}

void measure_watched(const Subject& subject, Page& page) {
  const std::string few = subject.rounds >= 100 ? "20000" : "2000";
  const Load loads[] = {
      {"one plain system call", {"getppid", few}},
      {"opening and closing a file", {"open", few, "/usr/share/zoneinfo"}},
      {"walking a tree", {"walk", subject.rounds >= 100 ? "5" : "1", "/usr/share/doc"}},
      {"starting python3 inside", {"spawn", "5", "/usr/bin/python3", "-c", "pass"}},
  };
  for (const Load& load : loads) {
    const auto found = measure_pair(subject, inside_words(subject, load, {}),
                                    inside_words(subject, load, {"--why"}));
    if (!found) {
      page.notes.push_back(load.quantity + ": did not run, not measured");
      continue;
    }
    page.figures.push_back(
        plain(load.quantity, fmt::format("{:.2f}x, {:.1f} us more", found->inside / found->bare,
                                         (found->inside - found->bare) / 1000)));
  }
}

void measure_memory(const Subject& subject, Page& page) {
  const pid_t supervisor = ::fork();
  if (supervisor == 0) {
    const int null = ::open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
    ::setenv("HOME", subject.scratch.home().c_str(), 1);
    if (::chdir(subject.scratch.empty().c_str()) < 0) ::_exit(1);
    ::execl(subject.cordon.c_str(), "cordon", "run", "--", "/bin/sleep", "20", nullptr);
    ::_exit(1);
  }
  ::usleep(200'000);
  const auto outer = memory_kib(supervisor);
  const auto inner = memory_kib(first_child(supervisor));
  ::kill(supervisor, SIGTERM);
  ::waitpid(supervisor, nullptr, 0);
  if (!outer || !inner) {
    page.notes.push_back("memory: the first process cannot be read by this user, not measured");
    return;
  }
  page.figures.push_back(at_most("memory of supervisor and first process (PSS)",
                                 outer->all + inner->all, 900, "KiB",
                                 fmt::format("{:.0f} + {:.0f}", outer->all, inner->all)));
  // The rest is the executable, which lies in the page cache once for all runs.
  page.figures.push_back(plain(
      "the same without what is the executable's",
      fmt::format("{:.0f} KiB, {:.0f} + {:.0f}", outer->own + inner->own, outer->own, inner->own)));
}

void measure_kill(const Subject& subject, Page& page) {
  constexpr unsigned kMany = 101;
  const unsigned rounds = subject.rounds >= 100 ? 30 : 3;
  Samples one;
  Samples many;
  for (unsigned round = 0; round < rounds; ++round) {
    const auto single = cancel_time(subject, "1");
    const auto crowd = cancel_time(subject, std::to_string(kMany));
    if (!single || !crowd) {
      page.notes.push_back("ending a tree: the load did not run inside, not measured");
      return;
    }
    one.values.push_back(*single);
    many.values.push_back(*crowd);
  }
  page.figures.push_back(at_most("ending a tree of one process", one.median(), 150, "us",
                                 "from the request to the return of run()"));
  page.figures.push_back(at_most("ending each further process",
                                 (many.median() - one.median()) / (kMany - 1), 60, "us", ""));
}

}  // namespace bench
