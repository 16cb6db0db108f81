// Measures what a call through `cordon mcp` costs, beside `cordon run` and a bare spawn, and prints
// the figures with their targets. --write puts them into their section of a page.
//   mcp_bench [--rounds N] [--calls N] [--cordon PATH] [--write FILE]
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cordon/runner.h"
#include "machine.h"
#include "mcp_peer.h"
#include "page.h"
#include "sampling.h"

namespace {

using namespace bench;

constexpr unsigned kInFlight = 10;

struct Options {
  unsigned rounds = 200;
  unsigned calls = 500;
  std::string cordon = std::filesystem::absolute("build/cordon");
  std::string write;
};

[[noreturn]] void usage() {
  std::fprintf(stderr,
               "usage: mcp_bench [--rounds N] [--calls N] [--cordon PATH] [--write FILE]\n");
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 >= argc) usage();
    const std::string_view name = argv[i];
    if (name == "--rounds") {
      options.rounds = static_cast<unsigned>(std::atoi(argv[i + 1]));
    } else if (name == "--calls") {
      options.calls = static_cast<unsigned>(std::atoi(argv[i + 1]));
    } else if (name == "--cordon") {
      options.cordon = std::filesystem::absolute(argv[i + 1]);
    } else if (name == "--write") {
      options.write = std::filesystem::absolute(argv[i + 1]);
    } else {
      usage();
    }
  }
  if (options.rounds == 0 || options.calls < kInFlight) usage();
  return options;
}

// The same policy as the server's ceiling gives, in this process.
double library_run(const cordon::Runner& runner, const cordon::Request& request) {
  const double start = now();
  const cordon::Report report = runner.run(request);
  const double took = now() - start;
  if (report.error) {
    std::fprintf(stderr, "mcp_bench: %s\n", cordon::message(*report.error).c_str());
    std::exit(1);
  }
  return took;
}

// A record is one append and one fdatasync.
double sync_once(int file) {
  const std::string record(600, 'x');
  const double start = now();
  if (::write(file, record.data(), record.size()) < 0 || ::fdatasync(file) < 0) std::abort();
  return now() - start;
}

struct Rounds {
  Samples bare{"bare /bin/true", {}};
  Samples run{"cordon run, workspace", {}};
  Samples library{"in-process run, workspace", {}};
  Samples call{"run_code [\"true\"] over stdio", {}};
  Samples discover{"server/discover of a running server", {}};
  Samples sync{"one append with fdatasync", {}};
  unsigned disturbed = 0;
};

Rounds measure(const Options& options, const Scratch& scratch, McpPeer& peer) {
  Rounds rounds;
  const Command bare{"bare", {"/bin/true"}, scratch.empty()};
  const Command run{"run", {options.cordon, "run", "--", "/bin/true"}, scratch.empty()};
  cordon::Request request;
  request.argv = {"true"};
  const auto policy = cordon::Policy::preset("workspace");
  if (!policy) std::abort();
  request.policy = *policy;
  const cordon::Runner runner;
  const int file = ::open((scratch.home() + "/records").c_str(),
                          O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) std::abort();
  for (unsigned round = 0; round <= options.rounds; ++round) {
    const auto sample = [&](Samples& samples, auto&& once) {
      if (!wait_for_quiet()) ++rounds.disturbed;
      const double took = once();
      if (round > 0) samples.values.push_back(took);
    };
    sample(rounds.bare, [&] { return spawn_once(bare); });
    sample(rounds.call, [&] { return peer.round_trip("tools/call", McpPeer::run_true()); });
    sample(rounds.run, [&] { return spawn_once(run); });
    sample(rounds.library, [&] { return library_run(runner, request); });
    sample(rounds.discover, [&] { return peer.round_trip("server/discover", ""); });
    sample(rounds.sync, [&] { return sync_once(file); });
  }
  ::close(file);
  return rounds;
}

// From the start of the process to the answer.
Samples measure_start(const Options& options, const Scratch& scratch,
                      const std::vector<std::string>& server) {
  Samples starts{"start to the answer of server/discover", {}};
  for (unsigned i = 0; i < 20; ++i) {
    wait_for_quiet();
    const double start = now();
    McpPeer fresh(options.cordon, server, scratch.empty(), scratch.home());
    fresh.round_trip("server/discover", "");
    starts.values.push_back(now() - start);
  }
  return starts;
}

// Calls a second, so many in flight; every one must succeed.
double measure_load(unsigned calls, McpPeer& peer, unsigned& failed) {
  unsigned begun = 0;
  const double start = now();
  for (; begun < kInFlight; ++begun) peer.begin("tools/call", McpPeer::run_true());
  for (unsigned answered = 0; answered < calls; ++answered) {
    if (!succeeded(peer.next())) ++failed;
    if (begun < calls) {
      peer.begin("tools/call", McpPeer::run_true());
      ++begun;
    }
  }
  return calls / ((now() - start) / 1e6);
}

Page make_page(const Options& options, const Scratch& scratch) {
  const std::string ceiling = scratch.file(
      "ceiling.toml", fmt::format("version = 1\n[fs]\nwrite = [\"{}\"]\n", scratch.empty()));
  const std::vector<std::string> server{"--ceiling", ceiling};
  McpPeer peer(options.cordon, server, scratch.empty(), scratch.home());
  const Rounds rounds = measure(options, scratch, peer);
  const Samples starts = measure_start(options, scratch, server);
  unsigned failed = 0;
  const double rate = measure_load(options.calls, peer, failed);

  Page page;
  page.machine = describe_machine();
  for (const Samples* samples : {&rounds.bare, &rounds.run, &rounds.library, &rounds.call,
                                 &rounds.discover, &rounds.sync, &starts}) {
    page.figures.push_back(plain(samples->name, summary(*samples)));
  }
  const double call = rounds.call.median();
  page.figures.push_back(plain("a call, to `cordon run`",
                               fmt::format("{:.2f}x, {:.2f}x bare", call / rounds.run.median(),
                                           call / rounds.bare.median())));
  constexpr double kAdded = 300;
  page.figures.push_back(at_most("a call, added to the in-process run",
                                 call - rounds.library.median(), kAdded + rounds.sync.median(),
                                 "us", "gate: 300 us and one fdatasync"));
  page.figures.push_back(
      at_most("start of the server to its first answer", starts.median(), 20'000, "us", ""));
  page.figures.push_back(
      at_most(fmt::format("failed of {} calls with {} in flight", options.calls, kInFlight), failed,
              0, "calls", fmt::format("{:.0f} a second", rate)));
  const double spread = rounds.bare.percentile(0.95) / rounds.bare.median();
  page.notes.push_back(fmt::format("{} rounds; p95 of the bare spawn is {:.2f}x its median",
                                   options.rounds, spread));
  if (rounds.disturbed > 0) {
    page.notes.push_back(
        fmt::format("{} samples were taken although the machine was not quiet", rounds.disturbed));
  }
  constexpr double kSteady = 1.5;
  constexpr unsigned kKinds = 6;
  page.steady = spread <= kSteady && rounds.disturbed <= options.rounds * kKinds / 10;
  return page;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const Scratch scratch;
  use_home(scratch.home());
  ::setenv("HOME", scratch.home().c_str(), 1);
  if (::chdir(scratch.empty().c_str()) < 0) return 1;
  const Page page = make_page(options, scratch);
  std::fputs(as_text(page).c_str(), stdout);
  if (!page.steady) {
    std::fputs("mcp_bench: the machine was not quiet: these figures mean nothing\n", stderr);
    if (!options.write.empty()) return 1;
  }
  if (options.write.empty()) return 0;
  const std::string text =
      "## Calls of agent hosts\n\n"
      "Written by `tests/bench/mcp_bench --write docs/performance.md`. A call goes through pipes "
      "to a\n"
      "server that runs already, with a ceiling that permits the workspace, and is recorded twice "
      "in\n"
      "the audit log. Everything is sampled in turn, as above.\n\n" +
      as_table(page);
  return write_section(options.write, "mcp", text) ? 0 : 1;
}
