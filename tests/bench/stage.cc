#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "sections.h"

namespace bench {
namespace {

constexpr unsigned kFilesOfGit = 50'000;

Command inside(const Subject& subject, const std::vector<std::string>& options,
               const std::vector<std::string>& command, const std::string& directory) {
  std::vector<std::string> words = {subject.cordon, "run"};
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return {"", words, directory};
}

// The same command in a stage and live, in turn.
struct StagedAndLive {
  Samples staged;
  Samples live;
};

StagedAndLive both(const Subject& subject, const std::vector<std::string>& command,
                   const std::string& directory, unsigned rounds) {
  const Measured measured = interleave(
      {inside(subject, {"--stage"}, command, directory), inside(subject, {}, command, directory)},
      rounds);
  return {measured.commands[0], measured.commands[1]};
}

std::vector<std::string> shell(const std::string& text) { return {"/bin/sh", "-c", text}; }

}  // namespace

void measure_stages(const Subject& subject, Page& page) {
  const std::string& empty = subject.scratch.empty();
  const unsigned few = std::max(5U, subject.rounds / 10);
  const StagedAndLive start = both(subject, {"/bin/true"}, empty, subject.rounds);
  page.figures.push_back(at_most("a stage of an empty project, added to a run",
                                 start.staged.median() - start.live.median(), 300, "us",
                                 fmt::format("live {:.0f} us", start.live.median())));

  const std::string appends = subject.scratch.directory("appends");
  const std::string append = "n=0; while [ $n -lt 5000 ]; do echo x >> log; n=$((n+1)); done";
  const StagedAndLive appended = both(subject, shell(append), appends, few);
  page.figures.push_back(
      at_most("5000 appends to a file", appended.staged.median() / 1000, 600, "ms",
              fmt::format("{:.2f}x of live", appended.staged.median() / appended.live.median())));

  const unsigned git_files = subject.rounds >= 100 ? kFilesOfGit : 500;
  const std::string repository = subject.scratch.tree(git_files);
  const std::string make = "cd '" + repository +
                           "' && git init -q && git add -A && git -c user.name=a -c "
                           "user.email=a@example.org commit -q -m first";
  if (std::system(make.c_str()) != 0) {  // NOLINT(cert-env33-c): the benchmark's own words
    page.notes.push_back("git: no repository could be made, not measured");
  } else {
    const std::vector<std::string> status = {"git", "--no-optional-locks", "status", "--short"};
    const StagedAndLive git = both(subject, status, repository, few);
    page.figures.push_back(at_most(fmt::format("git status in {} files, to live", git_files),
                                   git.staged.median() / git.live.median(), 1.4, "x",
                                   fmt::format("live {:.0f} ms", git.live.median() / 1000)));
  }
  std::filesystem::remove_all(repository);

  const std::string tree = subject.scratch.tree(subject.tree_files);
  const std::string write = "for n in 0 1 2 3 4 5 6 7 8 9; do echo $$ > changed$n; done";
  const Measured ends = interleave({inside(subject, {"--stage"}, shell(write), tree),
                                    inside(subject, {"--stage"}, shell(":"), tree)},
                                   few);
  page.figures.push_back(
      at_most(fmt::format("ten changes in a tree of {} files: written, listed and applied",
                          subject.tree_files),
              (ends.commands[0].median() - ends.commands[1].median()) / 1000, 10, "ms", ""));
}

}  // namespace bench
