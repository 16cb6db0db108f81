#include "faces/mcp/tools/excerpt.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "config/node.h"

namespace cordon::mcp {
namespace {

TEST(Excerpt, CostIsWhatTheWriterWrites) {
  for (const std::string& text : std::vector<std::string>{
           std::string("plain"), std::string("\"\\\n\t\r\b\f"), std::string("\x01\x1b\x7f"),
           std::string("\0x", 2), std::string("é☃𝄞"), std::string("</script>")}) {
    EXPECT_EQ(json_cost(text) + 2, write_json(Node(text), JsonStyle::Compact).size()) << text;
  }
}

TEST(Excerpt, CutsOnlyBetweenCharacters) {
  const std::string text = "aé☃𝄞\nb";
  for (std::size_t cost = 0; cost <= json_cost(text) + 1; ++cost) {
    const std::string_view front = beginning_of(text, cost);
    const std::string_view back = end_of(text, cost);
    EXPECT_TRUE(is_valid_utf8(front) && is_valid_utf8(back)) << cost;
    EXPECT_LE(json_cost(front), cost);
    EXPECT_LE(json_cost(back), cost);
    EXPECT_TRUE(text.starts_with(front) && text.ends_with(back));
  }
  EXPECT_EQ(beginning_of(text, json_cost(text)), text);
  EXPECT_EQ(end_of(text, json_cost(text)), text);
}

TEST(Excerpt, KeepsWhatFits) {
  const Excerpt whole = excerpt({"all of it", "", 0}, 9);
  EXPECT_EQ(whole.text, "all of it");
  EXPECT_FALSE(whole.cut);
}

TEST(Excerpt, TellsHowMuchIsMissing) {
  const Excerpt cut = excerpt({std::string(500, 'a') + std::string(500, 'z'), "", 0}, 200);
  EXPECT_TRUE(cut.cut);
  EXPECT_LE(json_cost(cut.text), 200U);
  EXPECT_TRUE(cut.text.starts_with("aaa") && cut.text.ends_with("zzz"));
  EXPECT_NE(cut.text.find("[... 864 bytes left out ...]"), std::string::npos) << cut.text;
  const Excerpt gap = excerpt({"front", "back", 1'000'000}, 200);
  EXPECT_EQ(gap.text, "front\n[... 1000000 bytes left out ...]\nback");
}

TEST(Excerpt, HasRoomForNothing) {
  EXPECT_LE(json_cost(excerpt({std::string(100, 'x'), "", 0}, 0).text), 64U);
}

}  // namespace
}  // namespace cordon::mcp
