#include "audit/verify.h"

#include <gmock/gmock.h>

#include "audit/checkpoint.h"
#include "audit/prune.h"
#include "audit/signing.h"
#include "audit/test_log.h"

namespace cordon::audit {
namespace {

class AuditVerify : public TestLog {
 protected:
  void SetUp() override {
    TestLog::SetUp();
    auto writer = identify_writer();
    ASSERT_TRUE(writer.has_value());
    Log log = open(writer->boot_id);
    for (int i = 0; i < 5; ++i) run(log);
  }
  [[nodiscard]] Verification found() const {
    auto verified = verify(place_, {});
    EXPECT_TRUE(verified.has_value());
    return verified ? std::move(*verified) : Verification{};
  }
  std::string day_ = "2025-11-07.jsonl";
};

TEST_F(AuditVerify, FindsNothingInALogThatHolds) {
  const Verification verified = found();
  EXPECT_TRUE(verified.holds());
  EXPECT_EQ(verified.records, 10U);
  EXPECT_EQ(verified.last.seq, 10U);
  EXPECT_TRUE(verified.notices.empty());
}

TEST_F(AuditVerify, FindsARecordReplacedByAnotherWithItsNumber) {
  const std::string bytes = read(day_);
  // Two histories that part behind the fourth record, spliced.
  std::size_t fourth = 0;
  for (int i = 0; i < 4; ++i) fourth = bytes.find('\n', fourth) + 1;
  const std::size_t fifth = bytes.find('\n', fourth) + 1;
  std::string line = bytes.substr(fourth, fifth - fourth);
  const std::size_t action = line.find("\"action\":\"run\"");
  line.replace(action, 14, "\"action\":\"rum\"");
  const std::size_t tail = line.rfind(",\"hash\":\"");
  line = line.substr(0, tail) + ",\"hash\":\"" + sha256_hex(line.substr(0, tail)) + "\"}\n";
  put(day_, bytes.substr(0, fourth) + line + bytes.substr(fifth));
  const Verification verified = found();
  ASSERT_EQ(verified.findings.size(), 1U);
  EXPECT_EQ(verified.findings[0].fault, Fault::Edit);
  EXPECT_EQ(verified.findings[0].line, 5U);
}

TEST_F(AuditVerify, DoesNotReserveMemoryForAForgedNumber) {
  std::string bytes = read(day_);
  const std::size_t last = bytes.rfind('\n', bytes.size() - 2) + 1;
  std::string line = bytes.substr(last);
  line.replace(line.find("\"seq\":10"), 8, "\"seq\":9223372036854775807");
  const std::size_t tail = line.rfind(",\"hash\":\"");
  line = line.substr(0, tail) + ",\"hash\":\"" + sha256_hex(line.substr(0, tail)) + "\"}\n";
  put(day_, bytes.substr(0, last) + line);
  EXPECT_FALSE(found().holds());
}

// The number of a damaged line is the one behind the line before, however large that is.
TEST_F(AuditVerify, DoesNotReserveMemoryForADamagedLineBehindAForgedNumber) {
  std::string bytes = read(day_);
  const std::size_t last = bytes.rfind('\n', bytes.size() - 2) + 1;
  std::string line = bytes.substr(last);
  line.replace(line.find("\"seq\":10"), 8, "\"seq\":9223372036854775806");
  const std::size_t tail = line.rfind(",\"hash\":\"");
  line = line.substr(0, tail) + ",\"hash\":\"" + sha256_hex(line.substr(0, tail)) + "\"}\n";
  put(day_, bytes.substr(0, last) + line + "damaged\n");
  // Without its head nothing tells which lines must be keyed.
  ASSERT_TRUE(std::filesystem::remove(path("head")));
  const Verification verified = found();
  EXPECT_FALSE(verified.holds());
  EXPECT_EQ(verified.records, 11U);
}

TEST_F(AuditVerify, HasANameForEveryFault) {
  std::vector<std::string_view> names;
  for (const Fault fault :
       {Fault::Edit, Fault::Removal, Fault::Reorder, Fault::Duplication, Fault::Truncation,
        Fault::HeadMismatch, Fault::Checkpoint, Fault::Pairing}) {
    names.push_back(name_of(fault));
  }
  EXPECT_THAT(names, testing::ElementsAre("edit", "removal", "reorder", "duplication", "truncation",
                                          "head-mismatch", "checkpoint", "pairing"));
}

TEST_F(AuditVerify, SignsTheEndOfALog) {
  const auto line = sign_checkpoint(place_, found());
  ASSERT_TRUE(line.has_value()) << message(line.error());
  const auto checkpoint = read_checkpoint(*line);
  ASSERT_TRUE(checkpoint.has_value());
  EXPECT_EQ(checkpoint->seq, 10U);
  EXPECT_EQ(found().checkpoints, 1U);
  std::string forged = *line;
  forged.replace(forged.find("\"seq\":10"), 8, "\"seq\":11");
  EXPECT_FALSE(read_checkpoint(forged).has_value());
}

TEST_F(AuditVerify, DoesNotPruneWhatIsStillOpen) {
  auto writer = identify_writer();
  ASSERT_TRUE(writer.has_value());
  Log log = open(writer->boot_id, kNoon + kDay);
  const auto receipt = log.begin(a_run(log));
  ASSERT_TRUE(receipt.has_value());
  MovedClock::wall = kNoon + 2 * kDay;
  run(log);
  ASSERT_EQ(found().days.size(), 3U);
  const auto pruned = prune(place_, found(), 1);
  ASSERT_FALSE(pruned.has_value());
  EXPECT_TRUE(std::filesystem::exists(path(day_)));
  EXPECT_TRUE(log.close(*receipt, {}).has_value());
  run(log);
  ASSERT_TRUE(prune(place_, found(), 1).has_value());
  EXPECT_FALSE(std::filesystem::exists(path(day_)));
  EXPECT_TRUE(found().holds());
}

// RFC 8032, 7.1, test 2.
TEST(AuditSigning, MatchesThePublishedVector) {
  const auto seed =
      digest_from_hex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
  ASSERT_TRUE(seed.has_value());
  const auto key = public_key_of(*seed);
  EXPECT_EQ(key, "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  const auto signature = sign(*seed, "\x72");
  EXPECT_EQ(signature,
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
  EXPECT_TRUE(signature_holds(key, "\x72", signature));
  EXPECT_FALSE(signature_holds(key, "\x73", signature));
  EXPECT_FALSE(signature_holds(key, "\x72", "00" + signature.substr(2)));
  EXPECT_FALSE(signature_holds("", "\x72", signature));
  EXPECT_FALSE(signature_holds(key, "\x72", ""));
}

}  // namespace
}  // namespace cordon::audit
