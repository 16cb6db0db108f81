#include "audit/files.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "audit/record_line.h"
#include "base/fd.h"

namespace cordon::audit {
namespace {

Fd file_with(std::string_view bytes) {
  Fd file(::memfd_create("lines", MFD_CLOEXEC));
  EXPECT_EQ(::write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return file;
}

struct Taken {
  std::string text;
  std::uint64_t offset;
  bool complete;
  bool overlong;
};

std::vector<Taken> lines_of(std::string_view bytes, std::uint64_t from = 0) {
  const Fd file = file_with(bytes);
  LineReader reader(file.get(), from, bytes.size());
  std::vector<Taken> taken;
  Line line;
  for (;;) {
    const auto more = reader.next(line);
    EXPECT_TRUE(more.has_value());
    if (!more || !*more) return taken;
    EXPECT_EQ(line.number, taken.size() + 1);
    taken.push_back({std::string(line.text), line.offset, line.complete, line.overlong});
  }
}

TEST(LineReader, GivesEachLineWithItsPlace) {
  const auto lines = lines_of("a\n\nbc\nd");
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0].text, "a");
  EXPECT_EQ(lines[1].text, "");
  EXPECT_EQ(lines[2].offset, 3U);
  EXPECT_EQ(lines[3].text, "d");
  EXPECT_TRUE(lines[2].complete);
  EXPECT_FALSE(lines[3].complete);
  EXPECT_TRUE(lines_of("").empty());
}

TEST(LineReader, BeginsWhereItIsTold) {
  const auto lines = lines_of("a\nbc\n", 2);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].text, "bc");
  EXPECT_EQ(lines[0].offset, 2U);
}

TEST(LineReader, SkipsALineThatIsTooLongAndGoesOn) {
  for (const std::size_t length : {kLongestLine - 1, kLongestLine, kLongestLine + 1,
                                   std::size_t{256} * 1024, std::size_t{3} << 20U}) {
    const auto lines = lines_of("x\n" + std::string(length, 'y') + "\nz\n");
    ASSERT_EQ(lines.size(), 3U) << length;
    EXPECT_EQ(lines[1].overlong, length >= kLongestLine) << length;
    EXPECT_EQ(lines[1].text.size(), length < kLongestLine ? length : 0U);
    EXPECT_EQ(lines[2].text, "z");
    EXPECT_EQ(lines[2].offset, length + 3);
  }
}

TEST(LineReader, FindsLinesAcrossItsPieces) {
  std::string bytes;
  for (int i = 0; i < 40'000; ++i) bytes += "line " + std::to_string(i) + "\n";
  const auto lines = lines_of(bytes);
  ASSERT_EQ(lines.size(), 40'000U);
  for (int i = 0; i < 40'000; ++i) {
    EXPECT_EQ(lines[static_cast<std::size_t>(i)].text, "line " + std::to_string(i));
  }
}

TEST(LineReader, EndsAtTheEndOfAFileThatIsShorterThanWasSaid) {
  const Fd file = file_with("a\nb");
  LineReader reader(file.get(), 0, 1'000'000);
  Line line;
  ASSERT_TRUE(*reader.next(line));
  ASSERT_TRUE(*reader.next(line));
  EXPECT_FALSE(line.complete);
  EXPECT_FALSE(*reader.next(line));
}

}  // namespace
}  // namespace cordon::audit
