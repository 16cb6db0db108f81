// Measures what containment costs, beside a bare spawn and bwrap, and prints the figures with their
// targets. --write makes a page of them; figures are never typed by hand.
//   launch [--section launch|watch|trees|stage] [--rounds N] [--files N] [--cordon PATH]
//          [--load PATH] [--write FILE]
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "sections.h"

namespace {

struct Options {
  unsigned rounds = 200;
  unsigned files = 100'000;
  std::string cordon;
  std::string load;
  std::string section = "launch";
  std::string write;
};

[[noreturn]] void usage() {
  std::fprintf(stderr,
               "usage: launch [--section launch|watch|trees|stage] [--rounds N] [--files N]\n"
               "              [--cordon PATH] [--load PATH] [--write FILE]\n");
  std::exit(2);
}

// A part of the page that is measured by itself.
struct Section {
  std::string_view name;
  void (*measure)(const bench::Subject& subject, bench::Page& page);
  std::string_view head;
};

constexpr Section kSections[] = {
    {"watch", bench::measure_watched,
     "## A watched command\n\n"
     "Written by `tests/bench/launch --section watch --write docs/performance.md`. The same "
     "command\n"
     "inside with `--why` and without, in turn. Only calls that take a path are looked at.\n\n"},
    {"trees", bench::measure_large_trees,
     "## A large tree\n\n"
     "Written by `tests/bench/launch --section trees --files 250000 --write docs/performance.md`. "
     "Wall\n"
     "clock from spawn to reap, in turn.\n\n"},
    {"stage", bench::measure_stages,
     "## A stage\n\n"
     "Written by `tests/bench/launch --section stage --files 250000 --write "
     "docs/performance.md`. The\n"
     "same command with `--stage` and without, in turn; wall clock from spawn to reap.\n\n"},
};

const Section* find_section(std::string_view name) {
  for (const Section& section : kSections)
    if (section.name == name) return &section;
  return nullptr;
}

Options parse(int argc, char** argv) {
  Options options;
  const std::filesystem::path self = std::filesystem::canonical("/proc/self/exe");
  options.load = self.parent_path() / "bench_load";
  options.cordon = std::filesystem::absolute("build/cordon");
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 >= argc) usage();
    const std::string_view name = argv[i];
    if (name == "--rounds") {
      options.rounds = static_cast<unsigned>(std::atoi(argv[i + 1]));
    } else if (name == "--files") {
      options.files = static_cast<unsigned>(std::atoi(argv[i + 1]));
    } else if (name == "--cordon") {
      options.cordon = std::filesystem::absolute(argv[i + 1]);
    } else if (name == "--load") {
      options.load = std::filesystem::absolute(argv[i + 1]);
    } else if (name == "--section") {
      options.section = argv[i + 1];
      if (options.section != "launch" && find_section(options.section) == nullptr) usage();
    } else if (name == "--write") {
      options.write = std::filesystem::absolute(argv[i + 1]);
    } else {
      usage();
    }
  }
  if (options.rounds == 0 || options.files == 0) usage();
  for (const std::string& path : {options.cordon, options.load}) {
    if (::access(path.c_str(), X_OK) < 0) {
      std::fprintf(stderr, "launch: %s: %s\n", path.c_str(), std::strerror(errno));
      std::exit(2);
    }
  }
  return options;
}

int measure(const Section& section, const Options& options, const bench::Subject& subject,
            bench::Page& page) {
  section.measure(subject, page);
  std::fputs(bench::as_text(page).c_str(), stdout);
  if (options.write.empty()) return 0;
  const std::string text = std::string(section.head) + bench::as_table(page);
  return bench::write_section(options.write, std::string(section.name), text) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const bench::Scratch scratch;
  bench::use_home(scratch.home());
  // The library reads the environment of this process.
  ::setenv("HOME", scratch.home().c_str(), 1);
  if (::chdir(scratch.empty().c_str()) < 0) return 1;
  const bench::Subject subject{options.cordon, options.load, options.rounds, options.files,
                               scratch};

  bench::Page page;
  page.machine = bench::describe_machine();
  page.notes.push_back(std::to_string(options.rounds) + " rounds of each comparison");
  if (const Section* section = find_section(options.section)) {
    return measure(*section, options, subject, page);
  }
  bench::measure_launch(subject, page);
  bench::measure_prices(subject, page);
  bench::measure_mounts(subject, page);
  bench::measure_trees(subject, page);
  bench::measure_grants_and_limits(subject, page);
  bench::measure_library(subject, page);
  bench::measure_sessions(subject, page);
  bench::measure_throughput(subject, page);
  bench::measure_steady_state(subject, page);
  bench::measure_memory(subject, page);
  bench::measure_kill(subject, page);

  std::fputs(bench::as_text(page).c_str(), stdout);
  if (!page.steady) {
    std::fputs("launch: the machine was not quiet: these figures mean nothing\n", stderr);
    if (!options.write.empty()) return 1;
  }
  if (options.write.empty()) return 0;
  const std::string text =
      "# Performance\n\n"
      "Written by `tests/bench/launch --write docs/performance.md`; no figure here was typed.\n"
      "Commands that are compared were run in turn in one process, in a new random order each\n"
      "round, each sample only after the machine was quiet. Times are wall clock from spawn to\n"
      "reap, in microseconds; ratios are of medians within one run. bwrap gets the same\n"
      "namespaces and binds and has neither Landlock nor a seccomp filter; Cordon always has all\n"
      "its layers. A price is what the kernel alone asks for a part of a launch.\n\n" +
      bench::as_table(page);
  return bench::write_section(options.write, "launch", text) ? 0 : 1;
}
