#include <fmt/format.h>

#include "sections.h"

namespace bench {
namespace {

// The same run, started by a shell that does something first.
Command after(const Subject& subject, const std::string& first, const std::string& directory) {
  return {"", {"/bin/sh", "-c", first + "exec \"$0\" run -- /bin/true", subject.cordon}, directory};
}

}  // namespace

void measure_large_trees(const Subject& subject, Page& page) {
  const std::string tree = subject.scratch.tree(subject.tree_files);
  const std::string& empty = subject.scratch.empty();
  const std::string forget = "rm -rf \"$HOME/.local/state/cordon/directories\"; ";
  // The first walk writes down what it finds, unless the files were made a moment ago.
  ::usleep(200'000);
  (void)interleave({after(subject, "", tree)}, 2);
  const Measured known = interleave({after(subject, ": > new; rm new; ", tree),
                                     after(subject, "", tree), after(subject, "", empty)},
                                    subject.rounds);
  const auto more = [&](std::size_t which) {
    return (known.commands[which].median() - known.commands[2].median()) / 1000;
  };
  const std::string of_files = fmt::format("a tree of {} files", subject.tree_files);
  page.figures.push_back(at_most(
      fmt::format("a run in {} where nothing changed, added to one in an empty project", of_files),
      more(1), 25, "ms", fmt::format("that one {:.1f} ms", known.commands[2].median() / 1000)));
  page.figures.push_back(
      plain("the same after a change in one directory", fmt::format("{:.1f} ms more", more(0))));
  const Measured unknown = interleave({after(subject, forget, tree), after(subject, forget, empty)},
                                      std::max(5U, subject.rounds / 10));
  page.figures.push_back(
      plain("the same where nothing is known of it",
            fmt::format("{:.1f} ms more",
                        (unknown.commands[0].median() - unknown.commands[1].median()) / 1000)));
}

}  // namespace bench
