#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "cordon/runner.h"
#include "cordon/session.h"
#include "sections.h"

namespace bench {
namespace {

// The median of what one command takes longer than another of the same round.
double added(const Samples& more, const Samples& less) {
  Samples difference;
  for (std::size_t i = 0; i < std::min(more.values.size(), less.values.size()); ++i) {
    difference.values.push_back(more.values[i] - less.values[i]);
  }
  return difference.median();
}

double ratio(const Samples& one, const Samples& other) { return one.median() / other.median(); }

void note_disturbance(const std::string& what, const Measured& measured, Page& page) {
  if (measured.disturbed == 0) return;
  page.notes.push_back(fmt::format("{}: {} samples were taken although the machine was not quiet",
                                   what, measured.disturbed));
}

}  // namespace

Command Subject::bare() const { return {"bare /bin/true", {"/bin/true"}, scratch.empty()}; }

Command Subject::bwrap() const {
  return {
      "bwrap",
      {"bwrap", "--ro-bind", "/", "/", "--bind", scratch.empty(), scratch.empty(), "--dev", "/dev",
       "--proc", "/proc", "--unshare-all", "--die-with-parent", "--new-session", "--", "/bin/true"},
      scratch.empty()};
}

Command Subject::run(const std::string& name, const std::vector<std::string>& options,
                     const std::string& directory) const {
  Command command{name, {cordon, "run"}, directory};
  command.argv.insert(command.argv.end(), options.begin(), options.end());
  command.argv.insert(command.argv.end(), {"--", "/bin/true"});
  return command;
}

Command Subject::strict() const {
  return run("cordon run, strict", {"--policy", "strict"}, scratch.empty());
}

void measure_launch(const Subject& subject, Page& page) {
  const Measured measured =
      interleave({subject.bare(),
                  {"cordon --version", {subject.cordon, "--version"}, subject.scratch.empty()},
                  subject.bwrap(),
                  subject.strict(),
                  subject.run("cordon run, workspace", {}, subject.scratch.empty())},
                 subject.rounds);
  const Samples& bare = measured.commands[0];
  const Samples& version = measured.commands[1];
  const Samples& bwrap = measured.commands[2];
  const Samples& strict = measured.commands[3];
  const Samples& workspace = measured.commands[4];
  for (const Samples& samples : measured.commands) {
    page.figures.push_back(plain(samples.name, summary(samples)));
  }
  page.figures.push_back(
      at_most("`cordon --version`, to bare spawn", ratio(version, bare), 1.10, "x", ""));
  page.figures.push_back(at_most("cold run, strict, to bwrap", ratio(strict, bwrap), 0.50, "x",
                                 fmt::format("{:.2f}x bare", ratio(strict, bare))));
  page.figures.push_back(at_most("cold run, workspace, to bwrap", ratio(workspace, bwrap), 0.50,
                                 "x", fmt::format("{:.2f}x bare", ratio(workspace, bare))));
  constexpr double kSteady = 1.5;
  const double spread = bare.percentile(0.95) / bare.median();
  page.notes.push_back(fmt::format("p95 of the bare spawn is {:.2f}x its median", spread));
  const std::size_t samples = bare.values.size() * measured.commands.size();
  page.steady = spread <= kSteady && measured.disturbed <= samples / 10;
  note_disturbance("launch", measured, page);
}

void measure_mounts(const Subject& subject, Page& page) {
  constexpr int kMounts = 200;
  if (::geteuid() != 0) {
    page.notes.push_back("200 more mounts: only root can make them, not measured");
    return;
  }
  int answers[2];
  if (::pipe(answers) < 0) std::abort();
  const pid_t child = ::fork();
  if (child == 0) {
    // A mount table of its own; the machine's stays as it is.
    bool ready = ::unshare(CLONE_NEWNS) == 0 &&
                 ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    const Measured few = interleave({subject.strict(), subject.bwrap()}, subject.rounds);
    const std::string source = subject.scratch.directory("mounted");
    for (int i = 0; i < kMounts && ready; ++i) {
      const std::string target = subject.scratch.directory(fmt::format("mounts/{}", i));
      ready = ::mount(source.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) == 0;
    }
    if (!ready) ::_exit(1);
    const Measured many = interleave({subject.strict(), subject.bwrap()}, subject.rounds);
    const double found[] = {ratio(many.commands[0], few.commands[0]),
                            ratio(many.commands[1], few.commands[1])};
    ::_exit(::write(answers[1], found, sizeof found) == sizeof found ? 0 : 1);
  }
  ::close(answers[1]);
  double found[2] = {};
  const bool read = ::read(answers[0], found, sizeof found) == sizeof found;
  ::close(answers[0]);
  ::waitpid(child, nullptr, 0);
  if (!read) {
    page.notes.push_back("200 more mounts: could not be made, not measured");
    return;
  }
  page.figures.push_back(at_most("cold run with 200 more host mounts, to itself", found[0], 1.20,
                                 "x", fmt::format("bwrap {:.2f}x", found[1])));
}

void measure_trees(const Subject& subject, Page& page) {
  const std::string tree = subject.scratch.tree(subject.tree_files);
  const std::string& empty = subject.scratch.empty();
  const Measured large = interleave({subject.run("", {}, tree), subject.run("", {}, empty)},
                                    std::max(5U, subject.rounds / 10));
  page.figures.push_back(at_most(fmt::format("walk of a tree of {} files", subject.tree_files),
                                 added(large.commands[0], large.commands[1]) / 1000, 150, "ms",
                                 ""));
  const Measured small =
      interleave({subject.run("", {}, empty), subject.run("", {"--policy", "readonly"}, empty)},
                 subject.rounds);
  page.figures.push_back(at_most("a writable empty directory, to a read-only one",
                                 added(small.commands[0], small.commands[1]), 50, "us", ""));
}

void measure_grants_and_limits(const Subject& subject, Page& page) {
  constexpr unsigned kGrants = 50;
  std::vector<std::string> options = {"--policy", "strict"};
  for (unsigned i = 0; i < kGrants; ++i) {
    options.insert(options.end(),
                   {"--read", subject.scratch.directory(fmt::format("grants/{}", i))});
  }
  const std::string free = subject.scratch.file("free.toml", "version = 1\n");
  const std::string bound =
      subject.scratch.file("bound.toml", "version = 1\n[limits]\nmemory = \"512M\"\npids = 64\n");
  const std::string& empty = subject.scratch.empty();
  const Measured measured = interleave(
      {subject.strict(), subject.run("", options, empty),
       subject.run("", {"--policy", free}, empty), subject.run("", {"--policy", bound}, empty)},
      subject.rounds);
  page.figures.push_back(at_most("each granted path",
                                 added(measured.commands[1], measured.commands[0]) / kGrants, 15,
                                 "us", ""));
  page.figures.push_back(at_most("memory and process limits added to a run",
                                 added(measured.commands[3], measured.commands[2]), 150, "us", ""));
}

void measure_library(const Subject& subject, Page& page) {
  cordon::Request request;
  request.argv = {"/bin/true"};
  const auto policy = cordon::Policy::preset("strict");
  if (!policy) std::abort();
  request.policy = *policy;
  const cordon::Runner runner;
  Samples inside{"library", {}};
  Samples bare{"posix_spawn", {}};
  for (unsigned round = 0; round <= subject.rounds; ++round) {
    wait_for_quiet();
    const double begin = now();
    const cordon::Report report = runner.run(request);
    const double took = now() - begin;
    if (report.error) {
      page.notes.push_back("library: " + cordon::message(*report.error));
      return;
    }
    wait_for_quiet();
    const double plain_spawn = spawn_once(subject.bare());
    if (round == 0) continue;
    inside.values.push_back(took);
    bare.values.push_back(plain_spawn);
  }
  page.figures.push_back(at_most("in-process run through the library, to posix_spawn",
                                 ratio(inside, bare), 3.20, "x", summary(inside) + " us"));
}

namespace {

// A command in a session that stands, beside a bare spawn, by the same process.
void measure_library_session(const Subject& subject, Page& page) {
  namespace fs = std::filesystem;
  // The library looks for the spawner beside the program that it is part of.
  const fs::path beside = fs::canonical("/proc/self/exe").parent_path() / "cordon-inside";
  fs::copy_file(fs::path(subject.cordon).parent_path() / "cordon-inside", beside,
                fs::copy_options::overwrite_existing);
  cordon::Request request;
  request.policy = *cordon::Policy::preset("strict");
  const auto session = cordon::Runner().open_session(request, {});
  if (!session) {
    page.notes.push_back("session: " + cordon::message(session.error()));
    return;
  }
  cordon::ExecRequest command;
  command.argv = {"/bin/true"};
  Samples inside{"exec", {}};
  Samples bare{"posix_spawn", {}};
  for (unsigned round = 0; round <= subject.rounds; ++round) {
    wait_for_quiet();
    const double begin = now();
    const cordon::Report report = session->exec(command);
    const double took = now() - begin;
    if (report.error) {
      page.notes.push_back("session: " + cordon::message(*report.error));
      return;
    }
    wait_for_quiet();
    const double plain_spawn = spawn_once(subject.bare());
    if (round == 0) continue;
    inside.values.push_back(took);
    bare.values.push_back(plain_spawn);
  }
  page.figures.push_back(at_most("command in a session through the library, to posix_spawn",
                                 ratio(inside, bare), 1.10, "x", summary(inside) + " us"));
}

}  // namespace

void measure_sessions(const Subject& subject, Page& page) {
  const auto session = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {subject.cordon, "session"});
    return Command{"cordon session exec", std::move(words), subject.scratch.empty()};
  };
  spawn_once(session({"start", "--policy", "strict"}));
  const Measured measured =
      interleave({subject.bare(), subject.bwrap(), session({"exec", "last", "--", "/bin/true"})},
                 subject.rounds);
  spawn_once(session({"stop", "last"}));
  const Samples& exec = measured.commands[2];
  page.figures.push_back(at_most(
      "command in a session through the command line, to bwrap", ratio(exec, measured.commands[1]),
      0.35, "x",
      fmt::format("{:.2f}x bare, {} us", ratio(exec, measured.commands[0]), summary(exec))));
  note_disturbance("session", measured, page);
  measure_library_session(subject, page);
}

namespace {

// How many runs two workers finish in a slice.
double per_second(const Command& command, double seconds) {
  const double until = now() + seconds * 1e6;
  const auto work = [&](unsigned& done) {
    while (now() < until) {
      spawn_once(command);
      ++done;
    }
  };
  unsigned one = 0;
  unsigned two = 0;
  std::thread other([&] { work(two); });
  work(one);
  other.join();
  return (one + two) / seconds;
}

}  // namespace

void measure_throughput(const Subject& subject, Page& page) {
  constexpr unsigned kSlices = 5;
  const double seconds = subject.rounds >= 100 ? 2.0 : 0.2;
  const std::array<Command, 3> commands = {subject.bare(), subject.bwrap(), subject.strict()};
  std::array<Samples, 3> rates;
  for (unsigned slice = 0; slice < kSlices; ++slice) {
    for (std::size_t i = 0; i < commands.size(); ++i) {
      rates[i].values.push_back(per_second(commands[i], seconds));
    }
  }
  page.figures.push_back(plain("runs per second with two workers: bare, bwrap, cordon",
                               fmt::format("{:.0f}, {:.0f}, {:.0f}", rates[0].median(),
                                           rates[1].median(), rates[2].median())));
  page.figures.push_back(
      at_least("throughput with two workers, to bwrap", ratio(rates[2], rates[1]), 2.0, "x", ""));
}

}  // namespace bench
