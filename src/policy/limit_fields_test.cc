#include "policy/presets.h"

#include <gtest/gtest.h>

#include <set>

namespace cordon {
namespace {

TEST(LimitFields, NameEveryLimitOnce) {
  Limits limits;
  std::set<std::string_view> keys;
  for (const LimitField& field : limit_fields()) {
    EXPECT_FALSE((limits.*field.member).has_value()) << field.key << " stands twice";
    limits.*field.member = 1;
    keys.insert(field.key);
  }
  EXPECT_EQ(keys, (std::set<std::string_view>{"wall", "cpu", "memory", "pids", "cpus", "files",
                                              "file_size", "output", "output_total", "connections",
                                              "sent", "requests", "request_traffic"}));
}

TEST(LimitFields, WriteValuesAsAPersonWould) {
  EXPECT_EQ(format_limit(LimitUnit::Milliseconds, 30'000), "30s");
  EXPECT_EQ(format_limit(LimitUnit::Bytes, 1ULL << 30U), "1G");
  EXPECT_EQ(format_limit(LimitUnit::Count, 2048), "2048");
  EXPECT_EQ(format_limit(LimitUnit::Thousandths, 2000), "2.0");
  EXPECT_EQ(format_limit(LimitUnit::Thousandths, 1250), "1.25");
  EXPECT_EQ(format_limit(LimitUnit::Thousandths, 5), "0.005");
}

}  // namespace
}  // namespace cordon
