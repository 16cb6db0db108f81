#include "faces/mcp/id_scan.h"

#include <gtest/gtest.h>

namespace cordon::mcp {
namespace {

std::optional<Id> scanned(std::string_view line) {
  IdScan scan;
  // In pieces of every size: it comes as the pipe gives it.
  for (std::size_t at = 0, size = 1; at < line.size(); at += size, size = size % 7 + 1) {
    scan.add(line.substr(at, size));
  }
  return scan.id();
}

TEST(IdScan, FindsTheIdOfTheOutermostObject) {
  EXPECT_EQ(scanned(R"({"jsonrpc":"2.0","id":7,"method":"m","params":{"id":8}})"), Id(7));
  EXPECT_EQ(scanned(R"({"method":"m","params":{"a":[{"id":8}]},"jsonrpc":"2.0", "id" : "x\"y"})"),
            Id("x\"y"));
  EXPECT_EQ(scanned(R"({"params":{"text":"\\\",\"id\":9}"},"id":-3})"), Id(-3));
  EXPECT_EQ(scanned(R"({"id":5,"params":{"text":"never ended)"), Id(5));
}

TEST(IdScan, FindsNoneWhereThereIsNone) {
  for (const char* line : {"", "[1,2]", R"([{"id":1}])", R"({"params":{"id":1}})", R"({"id":null})",
                           R"({"id":1.5})", R"({"id":{"id":1}})", R"("id":1)", R"({"idx":1})"}) {
    EXPECT_EQ(scanned(line), std::nullopt) << line;
  }
  EXPECT_EQ(scanned("{\"id\":\"" + std::string(5000, 'x') + "\"}"), std::nullopt);
}

}  // namespace
}  // namespace cordon::mcp
