#include "faces/cli/audit_forms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "faces/cli/console.h"

namespace cordon {
namespace {

using audit::Event;
using testing::HasSubstr;

constexpr std::int64_t kNow = 1'762'516'800'000'000;  // 2025-11-07T12:00:00Z
constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kDay = 86'400 * kSecond;

Event an_event() {
  Event event;
  event.seq = 7;
  event.event_id = "01a1dde0-94df-72ae-a1ab-3ae2ce8f585c";
  event.begun_us = kNow;
  event.ended_us = kNow + 2500;
  event.action = "run";
  event.outcome = "failure";
  event.reason = "exit";
  event.exit_code = 3;
  event.duration_ms = 2;
  return event;
}

TEST(AuditWhen, CountsBackFromNow) {
  const auto when = [](std::string_view text) { return parse_when(text, kNow, DayEdge::First); };
  EXPECT_EQ(when("90s"), kNow - 90 * kSecond);
  EXPECT_EQ(when("2h"), kNow - 7200 * kSecond);
  EXPECT_EQ(when("7d"), kNow - 7 * kDay);
  EXPECT_EQ(when("0d"), kNow);
}

TEST(AuditWhen, ReadsDaysAndMoments) {
  const std::int64_t midnight = kNow - kDay / 2;
  EXPECT_EQ(parse_when("2025-11-07", kNow, DayEdge::First), midnight);
  EXPECT_EQ(parse_when("2025-11-07", kNow, DayEdge::Behind), midnight + kDay);
  EXPECT_EQ(parse_when("2025-11-07T12:00Z", kNow, DayEdge::First), kNow);
  EXPECT_EQ(parse_when("2025-11-07T12:00:01Z", kNow, DayEdge::First), kNow + kSecond);
  EXPECT_EQ(parse_when("2025-11-07T12:00:00.000002Z", kNow, DayEdge::First), kNow + 2);
}

TEST(AuditWhen, RefusesWhatIsNoTime) {
  for (const char* text : {"", "d", "-1d", "99999999999d", "yesterday", "2025-02-30", "7", "1w",
                           "2025-11-07T25:00Z", "99999999999999h", "Z"}) {
    EXPECT_FALSE(parse_when(text, kNow, DayEdge::First).has_value()) << text;
  }
}

TEST(AuditOutcome, IsSaidInOneWord) {
  Event event = an_event();
  EXPECT_EQ(outcome_text(event), "exit 3");
  event.reason = "timeout";
  EXPECT_EQ(outcome_text(event), "timeout");
  event.reason = "";
  event.outcome = "success";
  EXPECT_EQ(outcome_text(event), "success");
}

TEST(AuditCsv, HasAColumnForEachKeyAndQuotesWhatNeedsIt) {
  Event event = an_event();
  event.resource = "a,\"b\"\nc";
  const std::string header = csv_header();
  const std::string row = csv_row(event);
  EXPECT_EQ(split(header, ',').size(), std::get<NodeMap>(event_node(event).value).size());
  EXPECT_TRUE(row.ends_with("\r\n"));
  EXPECT_THAT(row, HasSubstr("\"a,\"\"b\"\"\\x0ac\""));
}

TEST(AuditOcsf, LeavesOutWhatIsNotKnown) {
  Event event = an_event();
  const Node node = ocsf_event(event, "a-host");
  EXPECT_EQ(audit::number_in(node, "class_uid"), 1007);
  EXPECT_EQ(audit::number_in(node, "status_id"), 2);
  EXPECT_EQ(audit::number_in(node, "exit_code"), 3);
  EXPECT_EQ(audit::text_in(*node.find("metadata"), "uid"), event.event_id);
  EXPECT_EQ(audit::text_in(*node.find("metadata")->find("product"), "name"), "Cordon");
  EXPECT_EQ(audit::text_in(*node.find("actor"), "app_name"), "cordon");
  EXPECT_EQ(audit::text_in(*node.find("device"), "name"), "a-host");
  EXPECT_EQ(node.find("unmapped")->find("signal"), nullptr);
}

TEST(TextTable, AlignsColumnsAndStripsControls) {
  TextTable table({{"N", Align::Right}, {"NAME"}});
  table.add({"1", "a\x1b[31m"});
  table.add({"100", "█"});
  EXPECT_EQ(table.text(), "  N  NAME\n  1  a\\x1b[31m\n100  █\n");
}

TEST(TextTable, GoesOverSeveralLinesWhereItIsTooWide) {
  TextTable table({{"N", Align::Right}, {"NAME"}, {"PLACE"}, {""}});
  table.add({"1", "one", "/a/rather/long/place", "██"});
  table.add({"2", "two", "", ""});
  const std::string whole = table.text();
  EXPECT_EQ(whole, "N  NAME  PLACE\n1  one   /a/rather/long/place  ██\n2  two\n");
  EXPECT_EQ(table.text_in(33), whole);
  EXPECT_EQ(table.text_in(24),
            "N 1  NAME one\n  PLACE /a/rather/long/place\n  ██\nN 2  NAME two\n");
}

TEST(Wrapped, BreaksLongLinesAtBlanksAndNeverAWord) {
  EXPECT_EQ(wrapped("a short line\n  b  c\n", 12, 6), "a short line\n  b  c\n");
  EXPECT_EQ(wrapped("one two three\n", 9, 6), "one two\n  three\n");
  EXPECT_EQ(wrapped("  one two three", 9, 4), "  one two\n    three");
  EXPECT_EQ(wrapped("see /a/very/long/path now", 8, 2), "see\n  /a/very/long/path\n  now");
  EXPECT_EQ(wrapped("\x1b[32m[PASS]\x1b[0m one two", 14, 2), "\x1b[32m[PASS]\x1b[0m one two");
}

TEST(WrappedLists, IsTheSameDocument) {
  const std::string toml =
      "read = [\"/a b, c\", \"/d\\\", e\", '/f, g']\nset = { A = \"1, 2, 3, 4, 5\", B = \"2\" }\n"
      "# a, long, comment, [that, stays]\n";
  EXPECT_EQ(wrapped_lists(toml, 20),
            "read = [\"/a b, c\",\n  \"/d\\\", e\",\n  '/f, g']\n"
            "set = { A = \"1, 2, 3, 4, 5\", B = \"2\" }\n# a, long, comment, [that, stays]\n");
  EXPECT_EQ(wrapped_lists(toml, 80), toml);
}

TEST(TextTable, DrawsBarsThatAreNeverEmptyForSomething) {
  EXPECT_EQ(bar(10, 10, 4, BarStyle::Plain), "####");
  EXPECT_EQ(bar(1, 1'000'000, 4, BarStyle::Plain), "#");
  EXPECT_EQ(bar(0, 10, 4, BarStyle::Plain), "");
  EXPECT_EQ(bar(0, 0, 4, BarStyle::Blocks), "");
  EXPECT_EQ(bar(10, 10, 2, BarStyle::Blocks), "██");
  EXPECT_EQ(bar(1, 1'000'000, 4, BarStyle::Blocks), "▏");
}

}  // namespace
}  // namespace cordon
