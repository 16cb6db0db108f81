// How fast the audit log takes records.
//   audit_bench DIRECTORY one COUNT             begin and close, one writer: microseconds each
//   audit_bench DIRECTORY many PROCESSES COUNT  begin alone: durable records a second
//   audit_bench DIRECTORY fill COUNT            COUNT actions without syncing, for the readers
//   audit_bench DIRECTORY read [PAGE]           verify and the first index of that log, into PAGE
#include <fmt/format.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "audit/index.h"
#include "audit/log.h"
#include "audit/verify.h"
#include "base/sha256.h"
#include "machine.h"
#include "page.h"

namespace {

using namespace cordon;
using namespace cordon::audit;

double now_us() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

Caller somebody() {
  Caller caller;
  caller.home = "/home/somebody";
  caller.homes = {caller.home};
  caller.cwd = "/home/somebody/project";
  return caller;
}

Pending a_run(const Redactor& redactor, std::string_view tool) {
  Action action;
  const std::vector<std::string> argv{"cc", "-c", "x.c"};
  action.backend = "native";
  action.tool = tool;
  action.cwd = "/home/somebody/project";
  action.argv = argv;
  return redactor.pending(action);
}

int one(const std::string& directory, unsigned long count) {
  auto log = Log::open({directory});
  if (!log) return 1;
  const Pending pending = a_run(log->redactor(somebody()), "");
  std::vector<double> begins;
  std::vector<double> closes;
  for (unsigned long i = 0; i < count; ++i) {
    const double start = now_us();
    const auto receipt = log->begin(pending);
    const double begun = now_us();
    if (!receipt || !log->close(*receipt, {})) return 1;
    begins.push_back(begun - start);
    closes.push_back(now_us() - begun);
  }
  std::vector<double> opens;
  for (int i = 0; i < 200; ++i) {
    const double start = now_us();
    const auto again = Log::open({directory});
    opens.push_back(now_us() - start);
    if (!again) return 1;
  }
  std::printf("open %.1f us, begin %.1f us, close %.1f us (medians of %lu)\n", median(opens),
              median(begins), median(closes), count);
  return 0;
}

int many(const std::string& directory, unsigned long writers, unsigned long count) {
  if (!Log::open({directory})) return 1;
  const double start = now_us();
  for (unsigned long w = 0; w < writers; ++w) {
    if (::fork() != 0) continue;
    auto log = Log::open({directory});
    if (!log) std::_Exit(1);
    const Pending pending = a_run(log->redactor(somebody()), "");
    for (unsigned long i = 0; i < count; ++i) {
      if (!log->refuse(pending, Redactor::refusal(policy_error("x")))) std::_Exit(1);
    }
    std::_Exit(0);
  }
  bool good = true;
  int status = 0;
  while (::wait(&status) > 0) good = good && status == 0;
  const double seconds = (now_us() - start) / 1e6;
  std::printf("%lu writers: %.0f durable records a second\n", writers,
              static_cast<double>(writers * count) / seconds);
  return good ? 0 : 1;
}

// Two records an action; closing ones are not synced, and pending ones are written late.
int fill(const std::string& directory, unsigned long count) {
  auto log = Log::open({directory});
  if (!log) return 1;
  const Redactor redactor = log->redactor(somebody());
  const Pending tools[] = {a_run(redactor, ""), a_run(redactor, "run_code"),
                           a_run(redactor, "read_local_file")};
  for (unsigned long i = 0; i < count; ++i) {
    const auto receipt = log->begin(tools[i % 3]);
    if (!receipt) return 1;
    Closing closing;
    closing.ending = i % 7 == 0 ? Ending::Timeout : Ending::Success;
    closing.duration_ms = i % 1000;
    if (!log->close(*receipt, closing)) return 1;
  }
  return 0;
}

// All that is in the log, hashed once as it lies there: what no reader can be quicker than.
bool hash_all(const std::string& directory) {
  std::string bytes(std::size_t{4} << 20U, '\0');
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() != ".jsonl") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    while (file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())) ||
           file.gcount() > 0) {
      (void)sha256(std::string_view(bytes).substr(0, static_cast<std::size_t>(file.gcount())));
    }
  }
  return true;
}

int read_log(const std::string& directory, const std::string& page_file) {
  constexpr int kRounds = 3;
  constexpr double kGateSeconds = 10;
  std::uint64_t records = 0;
  std::vector<double> hashing;
  std::vector<double> verifying;
  std::vector<double> indexing;
  const auto timed = [](std::vector<double>& into, const std::function<bool()>& what) {
    const double start = now_us();
    const bool good = what();
    into.push_back((now_us() - start) / 1e6);
    return good;
  };
  for (int round = 0; round < kRounds; ++round) {
    const bool good = timed(hashing, [&] { return hash_all(directory); }) &&
                      timed(verifying,
                            [&] {
                              const auto found = verify({directory}, {});
                              if (found) records = found->records;
                              return found && found->holds();
                            }) &&
                      timed(indexing, [&] {
                        std::filesystem::remove(directory + "/index.sqlite");
                        return Index::open({directory}, {}).has_value();
                      });
    if (!good) return 1;
  }
  bench::Page page;
  page.machine = bench::describe_machine();
  const auto relative = [&](const std::vector<double>& values) {
    return fmt::format("{:.1f}x of hashing it once", median(values) / median(hashing));
  };
  page.figures.push_back(bench::at_most(fmt::format("verify, {} records", records),
                                        median(verifying), kGateSeconds, "s", relative(verifying)));
  page.figures.push_back(bench::at_most(fmt::format("first index, {} records", records),
                                        median(indexing), kGateSeconds, "s", relative(indexing)));
  page.notes.push_back(fmt::format("{} rounds, in turn", kRounds));
  std::fputs(bench::as_text(page).c_str(), stdout);
  if (page_file.empty()) return 0;
  const std::string text =
      "## Reading the audit log\n\n"
      "Written by `audit_bench DIRECTORY read docs/performance.md`, over a log that `audit_bench "
      "DIRECTORY\nfill 500000` made.\n\n" +
      bench::as_table(page);
  return bench::write_section(page_file, "audit", text) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto number = [&](std::size_t i) { return std::strtoul(words[i].c_str(), nullptr, 10); };
  if (words.size() == 3 && words[1] == "one") return one(words[0], number(2));
  if (words.size() == 4 && words[1] == "many") return many(words[0], number(2), number(3));
  if (words.size() == 3 && words[1] == "fill") return fill(words[0], number(2));
  if (words.size() >= 2 && words.size() <= 3 && words[1] == "read") {
    return read_log(words[0], words.size() == 3 ? words[2] : "");
  }
  return 2;
}
