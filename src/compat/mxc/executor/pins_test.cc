#include "compat/mxc/executor/pins.h"

#include <gtest/gtest.h>

namespace cordon::mxc {
namespace {

const std::string kDigest = "1fa5ae7ac2b1dfa14e06b2ba2bbf29c3ad1bfe3ebbac65e5fdb1f6e5a7b4b0c1";

std::string with(const std::string& lines) {
  return "version = 1\n[executors.linux-arm64]\n" + lines;
}

TEST(MxcPins, WhatAFileSays) {
  const auto pins = parse_pins(with("sha256 = \"" + kDigest +
                                    "\"\nversion = \"0.8.0\"\ncommit = \"7dac1a95\"\n"
                                    "origin = \"npm\"\n"),
                               "pins.toml");
  ASSERT_TRUE(pins) << message(pins.error());
  EXPECT_EQ(pins->pin.at("linux-arm64"), (Pin{kDigest, "0.8.0", "7dac1a95", "npm"}));
  EXPECT_EQ(*pin_for(*pins, "linux-arm64", {}), pins->pin.at("linux-arm64"));
}

TEST(MxcPins, DigestsAreComparedInLowerCase) {
  std::string upper = kDigest;
  for (char& c : upper) c = c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c;
  const auto pins =
      parse_pins(with("sha256 = \"" + upper + "\"\nversion = \"0.8.0\"\n"), "pins.toml");
  ASSERT_TRUE(pins);
  EXPECT_EQ(pins->pin.at("linux-arm64").sha256, kDigest);
}

TEST(MxcPins, NoPinAndAPlaceholderAreTwoThings) {
  const auto empty = parse_pins("version = 1\n", "pins.toml");
  ASSERT_TRUE(empty);
  const auto none = pin_for(*empty, "linux-arm64", {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::Unavailable);
  EXPECT_NE(none.error().what.find("no executor is pinned for linux-arm64"), std::string::npos);

  const auto zeros = parse_pins(
      with("sha256 = \"" + std::string(64, '0') + "\"\nversion = \"0.8.0\"\n"), "pins.toml");
  ASSERT_TRUE(zeros);
  const auto unpinned = pin_for(*zeros, "linux-arm64", {});
  ASSERT_FALSE(unpinned);
  EXPECT_EQ(unpinned.error().kind, ErrorKind::Unavailable);
  EXPECT_NE(unpinned.error().what.find("zeros"), std::string::npos);
}

TEST(MxcPins, ErrorsHaveTheirPlace) {
  const auto wrong = parse_pins(with("sha256 = \"abc\"\nversion = \"0.8.0\"\n"), "pins.toml");
  ASSERT_FALSE(wrong);
  ASSERT_TRUE(wrong.error().place);
  EXPECT_EQ(wrong.error().place->line, 3U);
  for (const char* text :
       {"", "version = 2\n", "version = 1\nexecutors = 3\n", "version = 1\n[executors]\nmine = 1\n",
        "version = 1\n[executors.linux-arm64]\nsha256 = 3\nversion = \"1\"\n",
        "version = 1\n[executors.linux-arm64]\nsha256 = \"\"\nversion = \"1\"\n"}) {
    EXPECT_FALSE(parse_pins(text, "pins.toml")) << text;
  }
}

}  // namespace
}  // namespace cordon::mxc
