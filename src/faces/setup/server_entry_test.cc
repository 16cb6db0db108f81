#include "faces/setup/host_file.h"

#include <gtest/gtest.h>

namespace cordon::setup {
namespace {

using Kind = ServerMerge::Kind;

constexpr std::string_view kJson = R"({"mcpServers":{"cordon":{"command":"/c","args":["mcp"]}}})";
constexpr std::string_view kToml =
    "approval_policy = \"never\"\n\n[mcp_servers.cordon]\ncommand = \"/c\"\nargs = [\"mcp\"]\n";

ServerMerge json(std::string_view existing) {
  return add_server(existing, kJson, ConfigForm::Json);
}
ServerMerge toml(std::string_view existing) {
  return add_server(existing, kToml, ConfigForm::Toml);
}

TEST(ServerEntry, IsAddedToJsonWithEveryOtherByteKept) {
  const std::string tail =
      "\"m\u00fcll\" : {\"command\":\"x\", \"n\": 1.50}} , \"other\":[ 1,2 ]\t}\n";
  const std::string text = "{ \"\xc3\xbc\": 1, \"mcpServers\":{" + tail;
  const ServerMerge merge = json(text);
  ASSERT_EQ(merge.kind, Kind::Added);
  EXPECT_TRUE(merge.text.starts_with("{ \"\xc3\xbc\": 1, \"mcpServers\":{\n    \"cordon\": {"));
  EXPECT_TRUE(merge.text.ends_with("}," + tail)) << merge.text;
  EXPECT_EQ(json(merge.text).kind, Kind::Same);
}

TEST(ServerEntry, IsAddedToConfigurationsWithoutServers) {
  for (const char* text : {"{}", "{ }", "{\"a\":1}", "{\"mcpServers\":{}}", "\n\n{\n}\n"}) {
    const ServerMerge merge = json(text);
    ASSERT_EQ(merge.kind, Kind::Added) << text;
    EXPECT_EQ(json(merge.text).kind, Kind::Same) << merge.text;
  }
}

TEST(ServerEntry, OfAPersonIsLeft) {
  EXPECT_EQ(json(R"({"mcpServers":{"cordon":{"command":"/mine"}}})").kind, Kind::Different);
  EXPECT_EQ(toml("[mcp_servers.cordon]\ncommand = \"/mine\"\n").kind, Kind::Different);
}

TEST(ServerEntry, IsNotAddedToWhatCannotBeReadInFull) {
  for (const char* text :
       {"", "[]", "{\"a\":1,}", "{// comment\n}", "{\"a\":1,\"a\":2}", "{\"mcpServers\":[]}",
        "{\"mcpServers\":null}", "{\"n\":123456789012345678901234567890}"}) {
    EXPECT_EQ(json(text).kind, Kind::ByHand) << text;
  }
  // The table is closed there: a header after it would be an error for the host.
  for (const char* text : {"mcp_servers = {}\n", "mcp_servers = 1\n", "a = \n", "a = 1\na = 2\n"}) {
    EXPECT_EQ(toml(text).kind, Kind::ByHand) << text;
  }
}

TEST(ServerEntry, IsAppendedToTomlAlone) {
  const std::string text = "# mine\nmodel = \"m\"\n[mcp_servers.other]\ncommand = \"x\"";
  const ServerMerge merge = toml(text);
  ASSERT_EQ(merge.kind, Kind::Added);
  EXPECT_TRUE(merge.text.starts_with(text + "\n\n[mcp_servers.cordon]\n")) << merge.text;
  EXPECT_EQ(merge.text.find("approval_policy"), std::string::npos);
  EXPECT_EQ(toml(merge.text).kind, Kind::Same);
  EXPECT_EQ(toml("").kind, Kind::Added);
}

TEST(ServerEntry, IsShownForAPersonToAdd) {
  EXPECT_EQ(entry_text(kToml, ConfigForm::Toml),
            "[mcp_servers.cordon]\ncommand = \"/c\"\nargs = [\"mcp\"]\n");
  EXPECT_TRUE(entry_text(kJson, ConfigForm::Json).starts_with("\"cordon\": {"));
}

}  // namespace
}  // namespace cordon::setup
