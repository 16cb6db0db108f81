#include "audit/decoded_lines.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "audit/record_line.h"
#include "base/fd.h"

namespace cordon::audit {
namespace {

constexpr Key kKey{1, 2, 3};
constexpr Key kOtherKey{1, 2, 4};

std::string a_line(std::uint64_t seq, const Key& key) {
  const Body body{Phase::Note, "01a1dde0-94df-72ae-a1ab-3ae2ce8f585c", 1'700'000'000'123'456, 42,
                  note_members("test", Node(NodeMap{}))};
  return compose(body, {}, seq, "a87146b5-8bb4-4c51-9b7c-1277d33ada22", key).line;
}

// Several batches of lines, most of them good: each kind of bad one next to good ones.
std::string many_lines() {
  std::string bytes;
  for (std::uint64_t seq = 1; seq <= 5000; ++seq) {
    std::string line = a_line(seq, seq % 11 == 0 ? kOtherKey : kKey);
    if (seq % 97 == 0) line[line.size() / 2] ^= 0x04;
    if (seq % 331 == 0) line.erase(line.size() / 3, 5);
    if (seq % 1009 == 0) line = "\n";
    if (seq % 1511 == 0) line.insert(20, kLongestLine, 'x');
    if (seq % 701 == 0) line = "{\"v\":[" + std::string(20'000, '[') + "\n";
    if (seq % 1201 == 0) {
      line = "{\"v\":[0";
      for (int i = 0; i < 20'000; ++i) line += ",0";
      line += "]" + a_line(seq, kKey).substr(6);
    }
    bytes += line;
  }
  return bytes + "{\"v\":1,\"seq\":50";
}

// Whatever is decoded at the same time, and in whose memory: each line is told as it is by itself.
TEST(DecodedLines, AreThoseOfTheFileEachDecodedByItself) {
  const std::string bytes = many_lines();
  const Fd file(::memfd_create("day", MFD_CLOEXEC));
  ASSERT_EQ(::write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  LineReader reader(file.get(), 0, bytes.size());
  DecodedLines lines(file.get(), 0, bytes.size(), kKey);
  Line line;
  std::uint64_t records = 0;
  std::uint64_t keyed = 0;
  std::uint64_t faults = 0;
  for (;;) {
    const auto more = reader.next(line);
    const auto next = lines.next();
    ASSERT_TRUE(more.has_value() && next.has_value());
    ASSERT_EQ(*more, *next != nullptr);
    if (!*more) break;
    const DecodedLine& decoded = **next;
    ASSERT_EQ(decoded.line.number, line.number);
    ASSERT_EQ(decoded.line.offset, line.offset);
    ASSERT_EQ(decoded.line.length, line.length);
    ASSERT_EQ(decoded.line.complete, line.complete);
    ASSERT_EQ(decoded.line.overlong, line.overlong);
    ASSERT_EQ(decoded.line.text, line.text);
    if (!line.complete || line.overlong) {
      EXPECT_FALSE(decoded.has_record || decoded.fault || decoded.keyed) << line.number;
      continue;
    }
    const auto record = decode_line(line.text);
    ASSERT_EQ(decoded.has_record, record.has_value()) << line.number;
    ASSERT_EQ(decoded.fault.has_value(), !record.has_value()) << line.number;
    if (!record) {
      ++faults;
      EXPECT_EQ(decoded.fault->what, record.error().what) << line.number;
      EXPECT_FALSE(decoded.keyed) << line.number;
      continue;
    }
    ++records;
    EXPECT_EQ(decoded.record.seq, record->seq);
    EXPECT_EQ(decoded.record.intact, record->intact);
    EXPECT_EQ(decoded.record.digest, record->digest);
    EXPECT_EQ(decoded.record.hash, record->hash);
    EXPECT_EQ(decoded.record.mac, record->mac);
    EXPECT_EQ(decoded.keyed, is_keyed(kKey, line.text, *record)) << line.number;
    keyed += decoded.keyed ? 1U : 0U;
  }
  EXPECT_GT(records, 4500U);
  EXPECT_GT(keyed, 4000U);
  EXPECT_LT(keyed, records);
  EXPECT_GT(faults, 20U);
}

TEST(DecodedLines, HaveNoKeyedOneWithoutAKey) {
  const std::string bytes = a_line(1, kKey);
  const Fd file(::memfd_create("day", MFD_CLOEXEC));
  ASSERT_EQ(::write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  DecodedLines lines(file.get(), 0, bytes.size(), std::nullopt);
  const auto next = lines.next();
  ASSERT_TRUE(next.has_value() && *next != nullptr);
  EXPECT_TRUE((*next)->has_record);
  EXPECT_FALSE((*next)->keyed);
}

}  // namespace
}  // namespace cordon::audit
