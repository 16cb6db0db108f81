#include "audit/fleet_line.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "audit/test_log.h"

namespace cordon::audit {
namespace {

class FleetLineOfALog : public TestLog {
 protected:
  // The first line of a new log.
  std::string line() {
    Log log = open();
    run(log);
    const std::string bytes = read("2025-11-07.jsonl");
    return bytes.substr(0, bytes.find('\n'));
  }
};

TEST_F(FleetLineOfALog, HoldsTheRecordByteForByte) {
  const std::string record = line();
  const std::string written = write_fleet_line({"build7", 1, kNoon, record});
  ASSERT_TRUE(written.ends_with("}\n"));
  const auto found = read_fleet_line(std::string_view(written).substr(0, written.size() - 1));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->node, "build7");
  EXPECT_EQ(found->seq, 1U);
  EXPECT_EQ(found->received_us, kNoon);
  EXPECT_EQ(found->record, record);
  EXPECT_TRUE(decode_line(found->record)->intact);
}

TEST_F(FleetLineOfALog, LeavesOutWhatIsNoRecord) {
  const std::string record = line();
  std::string changed = record;
  changed.replace(changed.find("pending"), 7, "closing");
  std::string parted = record;
  parted.insert(1, "\n");
  for (const std::string& other : {std::string("x"), std::string(), changed, parted,
                                   std::string("{}}\n{\"node\":\"other\",\"record\":{")}) {
    const std::string written = write_fleet_line({"build7", 1, kNoon, other});
    EXPECT_EQ(std::ranges::count(written, '\n'), 1) << written;
    const auto found = read_fleet_line(std::string_view(written).substr(0, written.size() - 1));
    ASSERT_TRUE(found.has_value()) << written;
    EXPECT_EQ(found->record, "");
  }
  // Its number is that of another record.
  const std::string moved = write_fleet_line({"build7", 2, kNoon, record});
  EXPECT_NE(moved.find("\"record\":null}"), std::string::npos);
}

TEST_F(FleetLineOfALog, NamesOfNodesEndNoString) {
  const std::string record = line();
  const std::string name = R"(a","record":{"x":"<b>\)";
  const std::string written = write_fleet_line({name, 1, kNoon, record});
  const auto found = read_fleet_line(std::string_view(written).substr(0, written.size() - 1));
  ASSERT_TRUE(found.has_value()) << written;
  EXPECT_EQ(found->node, name);
  EXPECT_EQ(found->record, record);
}

TEST(FleetLine, RefusesEverythingElse) {
  for (const char* text : {"", "{}", "{\"node\":\"a\"}", "{\"node\":1,\"seq\":1,\"record\":null}",
                           "{\"node\":\"a\",\"seq\":-1,\"received\":\"2025-11-07T12:00:00.000000Z\""
                           ",\"record\":null}",
                           "{\"node\":\"a\",\"seq\":1,\"received\":\"today\",\"record\":null}",
                           "{\"node\":\"a\",\"seq\":1,\"received\":\"2025-11-07T12:00:00.000000Z\""
                           ",\"record\":null"}) {
    EXPECT_FALSE(read_fleet_line(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace cordon::audit
