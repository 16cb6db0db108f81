#include "faces/loop/screen_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon::loop {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

FeatureProgress progress(std::string id, FeatureState state = FeatureState::Pending) {
  FeatureProgress made;
  made.id = std::move(id);
  made.state = state;
  return made;
}

LoopStarted started(std::size_t count = 2) {
  LoopStarted event;
  event.project = "/home/u/project";
  event.agent = "claude";
  event.enforcement.backend = "native";
  event.enforcement.namespaces = event.enforcement.landlock = event.enforcement.seccomp = true;
  event.enforcement.network = "allow";
  for (std::size_t i = 0; i < count; ++i) {
    event.features.push_back(progress("f" + std::to_string(i)));
    event.titles.push_back("title " + std::to_string(i));
  }
  return event;
}

std::string screen(const ScreenModel& model, std::size_t width = 80, std::size_t height = 24) {
  std::string text;
  for (const ScreenLine& line : model.lines(width, height, 3723)) text.append(line.text) += "\n";
  return text;
}

TEST(ScreenModel, ShowsTheMechanismFromTheProbeOn) {
  ScreenModel model;
  EXPECT_THAT(screen(model), HasSubstr("being probed"));
  model.apply(started());
  EXPECT_THAT(screen(model), HasSubstr("contained by native, network allow: namespaces, landlock"));
  EXPECT_THAT(screen(model, 40), HasSubstr("network allow")) << "what matters is not cut off";
  EXPECT_THAT(screen(model), HasSubstr("01:02:03  0/2 done  claude"));
  EXPECT_THAT(screen(model), HasSubstr("[ ] f0: title 0"));
}

TEST(ScreenModel, NamesTheCredentialAndRepeatsNothingOfTheHeader) {
  ScreenModel model;
  LoopStarted event = started();
  event.credential = Credential{"claude", Credential::Kind::Variable, "ANTHROPIC_API_KEY"};
  model.apply(event);
  const std::string text = screen(model);
  EXPECT_THAT(text, HasSubstr("credential of claude: ANTHROPIC_API_KEY"));
  EXPECT_EQ(text.find("title 0"), text.rfind("title 0"));
}

TEST(ScreenModel, IsAsLargeAsTheTerminalAndNeverWider) {
  ScreenModel model;
  model.apply(started(50));
  model.apply(AttemptStarted{"f40", std::string(300, 'x'), 2, 3});
  model.apply(AgentTold{Said{std::string(500, 'y') + "\n\xE6\xBC\xA2\xE5\xAD\x97"}});
  for (const std::size_t height : {0U, 1U, 2U, 5U, 8U, 24U, 100U}) {
    for (const std::size_t width : {0U, 1U, 20U, 80U, 300U}) {
      const auto lines = model.lines(width, height, 0);
      EXPECT_EQ(lines.size(), height);
      for (const ScreenLine& line : lines) EXPECT_EQ(fit(line.text, width), line.text);
    }
  }
  EXPECT_THAT(screen(model), HasSubstr(">[ ] f40")) << "the current one is in view";
}

TEST(ScreenModel, KeepsWhatAnAgentWritesHarmless) {
  ScreenModel model;
  LoopStarted event = started();
  event.titles[0] = "\x1b[2Jtitle";
  model.apply(event);
  model.apply(AgentTold{Said{"\x1b]0;owned\x07"}});
  model.apply(
      AgentNoted{"\x9b"
                 "31m"});
  EXPECT_EQ(screen(model).find('\x1b'), std::string::npos);
  EXPECT_EQ(screen(model).find('\x07'), std::string::npos);
}

TEST(ScreenModel, AsksOnceBeforeARunningLoopIsLeft) {
  ScreenModel model;
  EXPECT_EQ(model.press('q'), ScreenAction::Quit) << "nothing runs yet";
  model.apply(started());
  EXPECT_EQ(model.press('q'), ScreenAction::None);
  EXPECT_THAT(screen(model), HasSubstr("y yes"));
  EXPECT_EQ(model.press('q'), ScreenAction::None) << "no second question";
  EXPECT_EQ(model.press('p'), ScreenAction::None);
  EXPECT_EQ(model.press('n'), ScreenAction::None);
  EXPECT_THAT(screen(model), HasSubstr("p pause"));
  model.press('q');
  EXPECT_EQ(model.press('y'), ScreenAction::Quit);
  model.press('q');
  model.apply(LoopEnded{LoopEnded::Why::Stopped, "asked", std::nullopt, {}});
  EXPECT_EQ(model.press('q'), ScreenAction::Leave) << "an ended loop is left at once";
}

TEST(ScreenModel, PausesAndGoesOn) {
  ScreenModel model;
  EXPECT_EQ(model.press('p'), ScreenAction::None);
  model.apply(started());
  EXPECT_EQ(model.press('p'), ScreenAction::Pause);
  EXPECT_EQ(model.press('p'), ScreenAction::Resume) << "before the pause was reached";
  EXPECT_EQ(model.press('p'), ScreenAction::Pause);
  model.apply(Paused{});
  EXPECT_THAT(screen(model), HasSubstr("paused"));
  EXPECT_EQ(model.press('p'), ScreenAction::Resume);
  model.apply(Resumed{});
  EXPECT_EQ(model.press('s'), ScreenAction::Skip);
}

TEST(ScreenModel, AFailureOfContainmentStaysInView) {
  ScreenModel model;
  Error error = setup_error("no namespace can be made", 1, "cordon doctor");
  model.apply(LoopEnded{LoopEnded::Why::Uncontained, {}, error, {}});
  EXPECT_TRUE(model.ended());
  EXPECT_THAT(screen(model), HasSubstr("sandbox setup failed: no namespace can be made"));
  EXPECT_EQ(model.lines(80, 24, 0).back().style, ScreenStyle::Bad);
}

TEST(ScreenModel, CountsWhatAllAttemptsSpent) {
  ScreenModel model;
  LoopStarted begun = started();
  begun.features.front().spent = {100, 500'000};
  model.apply(begun);
  EXPECT_THAT(screen(model), HasSubstr("100 tokens, $0.50"));
  for (int attempt = 0; attempt < 2; ++attempt) {
    model.apply(AgentTold{Spent{7, 0}});
    model.apply(AgentTold{Spent{10, 250'000}});
    model.apply(AgentEnded{});
  }
  EXPECT_THAT(screen(model), HasSubstr("120 tokens, $1.00"));
}

TEST(ScreenModel, ShowsStatesAndDenials) {
  ScreenModel model;
  model.apply(started());
  AgentEnded agent;
  agent.denials.push_back({"connect", "evil.example:443", "broker", 1});
  model.apply(agent);
  model.apply(FeatureEnded{progress("f0", FeatureState::Done)});
  model.apply(FeatureEnded{progress("f1", FeatureState::Failed)});
  EXPECT_THAT(screen(model), HasSubstr("[x] f0"));
  EXPECT_THAT(screen(model), HasSubstr("[!] f1"));
  EXPECT_THAT(screen(model), HasSubstr("1/2 done"));
  model.apply(agent);
  const std::string text = screen(model);
  const std::string denial = "\ndenied: connect: evil.example:443 (broker)\n";
  ASSERT_THAT(text, HasSubstr(denial));
  EXPECT_EQ(text.find(denial, text.find(denial) + 1), std::string::npos) << "each is told once";
}

}  // namespace
}  // namespace cordon::loop
