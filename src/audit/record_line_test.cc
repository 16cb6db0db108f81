#include "audit/record_line.h"
#include "audit/decode_line.h"

#include <gtest/gtest.h>

#include "audit/head.h"
#include "audit/record.h"
#include "audit/redactor.h"

namespace cordon::audit {
namespace {

constexpr Key kKey{1, 2, 3};

Composed a_note(std::uint64_t seq = 1) {
  Node metadata;
  metadata.set("cut_bytes", 3).set("lost_from", Node()).set("lost_to", Node());
  const Body body{Phase::Note, "01a1dde0-94df-72ae-a1ab-3ae2ce8f585c", 1'700'000'000'123'456, 42,
                  note_members("audit.recovery", std::move(metadata))};
  return compose(body, {}, seq, "a87146b5-8bb4-4c51-9b7c-1277d33ada22", kKey);
}

std::string_view without_newline(const std::string& line) {
  return std::string_view(line).substr(0, line.size() - 1);
}

TEST(AuditLine, IsReadAsItWasComposed) {
  const Composed composed = a_note(7);
  const auto record = decode_line(without_newline(composed.line));
  ASSERT_TRUE(record.has_value()) << message(record.error());
  EXPECT_TRUE(record->intact);
  EXPECT_EQ(record->seq, 7U);
  EXPECT_EQ(record->digest, composed.hash);
  EXPECT_EQ(record->timestamp, "2023-11-14T22:13:20.123456Z");
  EXPECT_EQ(record->wall_us, 1'700'000'000'123'456);
  EXPECT_EQ(record->boot_ms, 42U);
  EXPECT_EQ(number_in(*record->metadata, "cut_bytes"), 3);
}

TEST(AuditLine, IsKeyed) {
  const Composed composed = a_note();
  const std::string_view line = without_newline(composed.line);
  const auto record = decode_line(line);
  ASSERT_TRUE(record.has_value());
  EXPECT_TRUE(is_keyed(kKey, line, *record));
  EXPECT_FALSE(is_keyed(Key{1, 2, 4}, line, *record));
  // Whoever has no key can make the hash fit, and nothing else.
  std::string forged(line.substr(0, line.find(",\"hash\":")));
  forged.replace(forged.find("\"cut_bytes\":3"), 13, "\"cut_bytes\":4");
  forged += ",\"hash\":\"" + to_hex(sha256(forged)) + "\"}";
  const auto changed = decode_line(forged);
  ASSERT_TRUE(changed.has_value() && changed->intact);
  EXPECT_FALSE(is_keyed(kKey, forged, *changed));
}

TEST(AuditLine, OfAnOlderReleaseHasNoMac) {
  const std::string line(without_newline(a_note().line));
  std::string older = line.substr(0, line.find(",\"mac\":"));
  older += ",\"hash\":\"" + to_hex(sha256(older)) + "\"}";
  const auto record = decode_line(older);
  ASSERT_TRUE(record.has_value()) << message(record.error());
  EXPECT_TRUE(record->intact);
  EXPECT_FALSE(is_keyed(kKey, older, *record));
}

TEST(AuditLine, NoticesEveryChangedBit) {
  const std::string line(without_newline(a_note().line));
  for (std::size_t at = 0; at < line.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string changed = line;
      changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ (1U << bit));
      const auto record = decode_line(changed);
      EXPECT_FALSE(record.has_value() && record->intact) << at << " bit " << bit;
    }
  }
}

TEST(AuditLine, RefusesWhatIsCutAtAnyLength) {
  const std::string line(without_newline(a_note().line));
  for (std::size_t length = 0; length < line.size(); ++length) {
    EXPECT_FALSE(decode_line(line.substr(0, length)).has_value()) << length;
  }
}

TEST(AuditLine, RefusesKeysThatAreDoubledMissingOrMoved) {
  const std::string line(without_newline(a_note().line));
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = line;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_FALSE(decode_line(with("\"v\":1,", "")).has_value());
  EXPECT_FALSE(decode_line(with("\"v\":1,", "\"v\":1,\"v\":1,")).has_value());
  EXPECT_FALSE(decode_line(with("\"v\":1,\"seq\":1", "\"seq\":1,\"v\":1")).has_value());
  EXPECT_FALSE(decode_line(with("\"v\":1", "\"v\":2")).has_value());
  EXPECT_FALSE(decode_line(with("\"seq\":1", "\"seq\":0")).has_value());
  EXPECT_FALSE(decode_line(with("\"seq\":1", "\"seq\":-1")).has_value());
  EXPECT_FALSE(decode_line(with("\"success\"", "\"failure\"")).has_value());
  EXPECT_FALSE(decode_line(with("\"note\"", "\"pending\"")).has_value());
  EXPECT_TRUE(decode_line(with("\"cut_bytes\":3", "\"cut_bytes\":4")).has_value());
}

TEST(AuditLine, NamesEveryEndingByOneReason) {
  for (const Ending ending : {Ending::Exit, Ending::Signal, Ending::Limit, Ending::Timeout,
                              Ending::Cancelled, Ending::Denied, Ending::Refused, Ending::Crash}) {
    ASSERT_TRUE(reason_of(ending).has_value());
    EXPECT_EQ(ending_with_reason(*reason_of(ending)), ending);
    EXPECT_EQ(outcome_of(ending), "failure");
  }
  EXPECT_FALSE(reason_of(Ending::Success).has_value());
  EXPECT_FALSE(ending_with_reason("").has_value());
}

TEST(AuditLine, StaysWithinTheLongestLineWhateverIsListed) {
  Key key{};
  Caller nobody;
  const Redactor redactor(key, nobody);
  Pending pending;
  for (int i = 0; i < 5000; ++i) {
    pending.read.push_back(redactor.path("/home/u/" + std::to_string(i)));
    pending.write.push_back(redactor.path("/home/v/" + std::to_string(i)));
    pending.ceilings.push_back({redactor.word("x"), redactor.argv(std::vector<std::string>{"y"})});
  }
  Closing closing;
  closing.denials.resize(5000, {redactor.word("pids"), redactor.word("cgroup"), {}, 1});
  const Body body{Phase::Closing, "01a1dde0-94df-72ae-a1ab-3ae2ce8f585c", 0, 0,
                  refusal_members(pending, closing)};
  EXPECT_LT(compose(body, {}, 1, "", kKey).line.size(), kLongestLine / 2);
}

TEST(AuditEventId, IsAUuidOfVersionSevenInTheOrderOfTime) {
  const auto first = new_event_id(1'700'000'000'000'000);
  const auto later = new_event_id(1'700'000'000'001'000);
  ASSERT_TRUE(first.has_value() && later.has_value());
  EXPECT_EQ(first->size(), 36U);
  EXPECT_EQ((*first)[14], '7');
  EXPECT_LT(*first, *later);
}

TEST(AuditHead, IsReadAsItWasWritten) {
  Key key{};
  key[3] = 9;
  Head head;
  head.last = {12, sha256("x")};
  head.synced = 11;
  head.day = "2025-11-07";
  head.size = 1234;
  head.boot_id = "a87146b5-8bb4-4c51-9b7c-1277d33ada22";
  head.open_day = "2025-11-06";
  head.open_offset = 77;
  head.cut_bytes = 5;
  head.lost = 1;
  const std::string bytes = encode_head(head, key);
  ASSERT_EQ(bytes.size(), kHeadSize);
  const auto read = decode_head(bytes, key);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(*read, head);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_FALSE(decode_head(changed, key).has_value()) << at;
  }
  EXPECT_FALSE(decode_head(bytes, Key{}).has_value());
  EXPECT_FALSE(decode_head(bytes.substr(1), key).has_value());
}

TEST(AuditMoment, SurvivesTheRoundTrip) {
  for (const std::int64_t us :
       {std::int64_t{0}, std::int64_t{951'782'400'000'000}, std::int64_t{1'709'251'199'999'999}}) {
    EXPECT_EQ(parse_moment(format_moment(us)), us);
  }
  EXPECT_EQ(format_moment(951'782'400'000'001), "2000-02-29T00:00:00.000001Z");
  EXPECT_EQ(day_of(951'782'400'000'000 - 1), "2000-02-28");
}

TEST(AuditMoment, RefusesWhatIsNotOne) {
  for (const char* text :
       {"", "2025-02-29T00:00:00.000000Z", "2025-01-01T24:00:00.000000Z",
        "2025-01-01T00:60:00.000000Z", "2025-01-01T00:00:00.00000aZ", "2025-01-01T00:00:00.000000",
        "1969-12-31T00:00:00.000000Z", "2025-1-01T00:00:00.0000000Z"}) {
    EXPECT_FALSE(parse_moment(text).has_value()) << text;
  }
  EXPECT_FALSE(start_of_day("2025-13-01").has_value());
  EXPECT_FALSE(start_of_day("2025-04-31").has_value());
  EXPECT_FALSE(start_of_day("../../etc/").has_value());
}

}  // namespace
}  // namespace cordon::audit
