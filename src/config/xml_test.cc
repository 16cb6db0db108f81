#include "config/xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon {
namespace {

using ::testing::HasSubstr;

std::string error_of(const std::string& text) {
  const auto read = read_xml(text, "settings.xml");
  return read ? "" : message(read.error());
}

TEST(ReadXml, KeepsElementsAndTheirText) {
  const auto read = read_xml(
      "<?xml version=\"1.0\"?>\n<!-- comment --><a xmlns=\"urn:x\"><b k=\"v\"> one </b><b/>"
      "t<![CDATA[<u>]]>&amp;&#118;</a>\n",
      "f");
  ASSERT_TRUE(read) << message(read.error());
  EXPECT_EQ(read->name, "a");
  EXPECT_EQ(read->text, "t<u>&v");
  ASSERT_EQ(read->children.size(), 2U);
  EXPECT_EQ(read->find("b")->text, " one ");
  EXPECT_EQ(read->children[1].text, "");
  EXPECT_EQ(read->find("k"), nullptr);
}

TEST(ReadXml, TakesOtherEncodings) {
  const auto latin = read_xml("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>\xE4</a>", "f");
  ASSERT_TRUE(latin) << message(latin.error());
  EXPECT_EQ(latin->text, "\xC3\xA4");
  const auto marked = read_xml("\xEF\xBB\xBF<a>x</a>", "f");
  ASSERT_TRUE(marked) << message(marked.error());
  EXPECT_EQ(marked->text, "x");
}

TEST(ReadXml, NamesThePlaceOfAFault) {
  EXPECT_EQ(error_of("<a>\n  <b></c>\n</a>"), "settings.xml:2:8: mismatched tag");
  EXPECT_THAT(error_of(""), HasSubstr("no element found"));
  EXPECT_THAT(error_of("SECRET\n"), HasSubstr("settings.xml:1:1: syntax error"));
  EXPECT_THAT(error_of("<a>&unknown;</a>"), HasSubstr("undefined entity"));
  EXPECT_THAT(error_of("<a/><b/>"), HasSubstr("junk after document element"));
  EXPECT_THAT(error_of("<?xml version=\"1.0\" encoding=\"EBCDIC-CP-US\"?><a/>"),
              HasSubstr("unknown encoding"));
}

TEST(ReadXml, RefusesADocumentTypeBeforeItsEntities) {
  for (const char* text : {"<!DOCTYPE a><a/>", "<!DOCTYPE a [<!ENTITY b \"bb\">]><a>&b;</a>",
                           "<!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]><a>&b;</a>"}) {
    EXPECT_THAT(error_of(text), HasSubstr("it has a document type")) << text;
  }
}

TEST(ReadXml, BoundsDepthAndSize) {
  const auto nested = [](std::size_t depth) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += "<a>";
    for (std::size_t i = 0; i < depth; ++i) text += "</a>";
    return text;
  };
  EXPECT_EQ(error_of(nested(64)), "");
  EXPECT_THAT(error_of(nested(65)), HasSubstr("nested deeper than 64"));
  std::string empty = nested(64);
  empty.insert(std::size_t{64} * 3, "<b/>");
  EXPECT_THAT(error_of(empty), HasSubstr("nested deeper than 64"));
  EXPECT_THAT(error_of("<a>" + std::string(std::size_t{1} << 20U, 'x') + "</a>"),
              HasSubstr("larger than 1 MiB"));
}

}  // namespace
}  // namespace cordon
