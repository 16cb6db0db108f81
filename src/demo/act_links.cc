#include <algorithm>

#include "demo/acts.h"

namespace cordon::demo {
namespace {

Scenario grant_by_link(Stage& stage) {
  const std::string diary = stage.home().at("Private/diary.txt");
  return stage.play(
      "ask for the link itself", {{"/bin/cat", diary}, {}, {"~/Downloads/shortcut"}, {}},
      Expected::Blocked, [&](const Report& report) {
        const bool reduced = std::ranges::any_of(report.reductions, [](const Reduction& reduction) {
          return reduction.because == Reduction::Because::SymlinkEscape;
        });
        if (!reduced) return Sight{false, "the clamp did not see through the link"};
        return kept_secret(report, diary, ScratchHome::kDiary);
      });
}

Scenario walk_through_link(Stage& stage) {
  return stage.play(
      "walk through the link inside a permitted directory",
      {{"/bin/cat", stage.home().at("Downloads/shortcut/diary.txt")}, {}, {"~/Downloads"}, {}},
      Expected::Blocked, [&](const Report& report) {
        return kept_secret(report, stage.home().at("Private/diary.txt"), ScratchHome::kDiary);
      });
}

Scenario link_that_stays_inside(Stage& stage) {
  return stage.play("follow a link between two permitted directories",
                    {{"/bin/cat", stage.home().at("Downloads/papers/report.txt")},
                     {"~/Documents"},
                     {"~/Downloads"},
                     {}},
                    Expected::Allowed, [](const Report& report) {
                      const bool same =
                          report.outcome->out->head == std::string(ScratchHome::kReport) + "\n";
                      return Sight{same, same ? "links that stay inside work"
                                              : "the command did not print the document"};
                    });
}

}  // namespace

Scenarios play_links(Stage& stage) {
  return {grant_by_link(stage), walk_through_link(stage), link_that_stays_inside(stage)};
}

}  // namespace cordon::demo
