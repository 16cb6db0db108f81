#include "faces/fleet/fleet_sums.h"

#include <gtest/gtest.h>

#include "audit/test_log.h"

namespace cordon {
namespace {

class FleetSumsOfALog : public audit::TestLog {
 protected:
  // Two actions: four records.
  std::vector<audit::Record> written() {
    audit::Log log = open();
    run(log);
    run(log);
    return records("2025-11-07.jsonl");
  }
  static FleetSums fresh() { return {{}, kNoon + kDay}; }
};

TEST_F(FleetSumsOfALog, CountsARecordOnceInWhateverOrderTheyCome) {
  const auto lines = written();
  ASSERT_EQ(lines.size(), 4U);
  for (const std::array<std::size_t, 6>& order :
       {std::array<std::size_t, 6>{0, 1, 2, 3, 0, 1}, {3, 2, 1, 0, 3, 2}, {1, 3, 1, 0, 2, 0}}) {
    FleetSums sums = fresh();
    for (const std::size_t i : order) sums.take("build7", lines[i], std::nullopt);
    sums.finish();
    EXPECT_EQ(sums.records, 4U);
    EXPECT_EQ(sums.all.count, 2U);
    EXPECT_EQ(sums.pending, 0U);
    EXPECT_EQ(sums.runs, 2U);
    ASSERT_EQ(sums.nodes.named().size(), 1U);
    EXPECT_EQ(sums.nodes.named().front().sum.count, 2U);
  }
}

TEST_F(FleetSumsOfALog, KeepsNodesApartAndTellsWhatHasNotEnded) {
  const auto lines = written();
  FleetSums sums = fresh();
  for (const audit::Record& line : lines) sums.take("a", line, std::nullopt);
  sums.take("b", lines[0], std::nullopt);
  sums.take_strange("b", 7);
  sums.finish();
  EXPECT_EQ(sums.all.count, 3U);
  EXPECT_EQ(sums.pending, 1U);
  EXPECT_EQ(sums.nodes.named().size(), 2U);
  EXPECT_EQ(sums.strange, 1U);
  ASSERT_EQ(sums.first_strange.size(), 1U);
  EXPECT_EQ(sums.first_strange.front().seq, 7U);
}

TEST_F(FleetSumsOfALog, AClockThatIsAheadIsOfItsNode) {
  const auto lines = written();
  FleetSums sums = fresh();
  sums.take("ahead", lines[0], kNoon - kDay);
  sums.take("right", lines[0], kNoon + 1'000'000);
  sums.finish();
  const auto nodes = sums.nodes.named();
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_GE(nodes[0].ahead_us, kDay);
  EXPECT_EQ(nodes[1].ahead_us, 0);
}

TEST(NamedRows, ShareOneRowPastTheirBound) {
  NamedRows<FleetRow> rows;
  for (std::size_t i = 0; i < NamedRows<FleetRow>::kMost + 5; ++i)
    rows.at(rows.of(std::to_string(i))).sum.count += 1;
  EXPECT_TRUE(rows.overflowed());
  EXPECT_EQ(rows.named().size(), NamedRows<FleetRow>::kMost);
  EXPECT_EQ(rows.shared().sum.count, 5U);
  EXPECT_EQ(rows.at(rows.of("7")).sum.count, 1U);
}

}  // namespace
}  // namespace cordon
