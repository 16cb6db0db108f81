#include "audit/log.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <thread>

#include "audit/recorder.h"
#include "audit/test_log.h"
#include "audit/verify.h"

namespace cordon::audit {
namespace {

using std::filesystem::exists;

class LogOnDisk : public TestLog {};

TEST_F(LogOnDisk, PairsAPendingRecordWithOneClosingOne) {
  Log log = open();
  run(log);
  const auto found = records("2025-11-07.jsonl");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].phase, Phase::Pending);
  EXPECT_EQ(found[1].phase, Phase::Closing);
  EXPECT_EQ(found[0].event_id, found[1].event_id);
  EXPECT_EQ(number_in(*found[1].metadata, "pending_seq"), 1);
  EXPECT_EQ(found[0].prev, Digest{});
  EXPECT_EQ(found[1].prev, found[0].digest);
}

TEST_F(LogOnDisk, ClosesAnActionOnlyOnce) {
  Log log = open();
  const auto receipt = log.begin(a_run(log));
  ASSERT_TRUE(receipt.has_value());
  EXPECT_TRUE(log.close(*receipt, {}).has_value());
  const auto again = log.close(*receipt, {});
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().kind, ErrorKind::Audit);
  EXPECT_EQ(records("2025-11-07.jsonl").size(), 2U);
}

TEST_F(LogOnDisk, RecordsARefusalWithoutAPendingRecord) {
  Log log = open();
  const auto id = log.refuse(a_run(log), Redactor::refusal(policy_error("x")));
  ASSERT_TRUE(id.has_value());
  const auto found = records("2025-11-07.jsonl");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].event_id, *id);
  EXPECT_EQ(found[0].reason, "refused");
  EXPECT_EQ(text_in(*found[0].metadata, "error_kind"), "policy");
  EXPECT_EQ(number_in(*found[0].metadata, "pending_seq"), std::nullopt);
  const LineValue* request = found[0].metadata->find("request");
  ASSERT_NE(request, nullptr);
  EXPECT_EQ(request->kind, LineValue::Kind::Map);
}

TEST_F(LogOnDisk, TakesNoActionWithoutAName) {
  Log log = open();
  EXPECT_FALSE(log.begin({}).has_value());
  EXPECT_FALSE(log.refuse({}, {}).has_value());
  EXPECT_FALSE(exists(path("2025-11-07.jsonl")));
}

TEST_F(LogOnDisk, StartsANewFileAtMidnightInUtc) {
  Log log = open();
  run(log);
  MovedClock::wall = kNoon + kDay / 2 - 1;  // the last microsecond of the day
  const auto receipt = log.begin(a_run(log));
  ASSERT_TRUE(receipt.has_value());
  EXPECT_TRUE(log.close(*receipt, {}).has_value());
  EXPECT_EQ(records("2025-11-07.jsonl").size(), 2U);
  EXPECT_EQ(records("2025-11-08.jsonl").size(), 2U);
  EXPECT_EQ(records("2025-11-08.jsonl")[0].prev, records("2025-11-07.jsonl").back().digest);
}

TEST_F(LogOnDisk, StaysInTheLaterFileWhenTheClockGoesBack) {
  Log log = open();
  run(log);
  MovedClock::wall = kNoon - 5 * kDay;
  run(log);
  EXPECT_EQ(records("2025-11-07.jsonl").size(), 4U);
  EXPECT_FALSE(exists(path("2025-11-02.jsonl")));
}

TEST_F(LogOnDisk, ServesManyThreads) {
  Log log = open();
  constexpr int kThreads = 8;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 25; ++turn) {
        const auto receipt = log.begin(a_run(log));
        if (!receipt || !log.close(*receipt, {})) std::abort();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto found = records("2025-11-07.jsonl");
  ASSERT_EQ(found.size(), 400U);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].seq, i + 1);
}

TEST_F(LogOnDisk, IsTheSameForASecondOpening) {
  Log first = open();
  run(first);
  Log second = open();
  run(second);
  run(first);
  EXPECT_EQ(records("2025-11-07.jsonl").size(), 6U);
}

// A file may not grow beyond the limit: a write is cut short, as on a full disk.
TEST_F(LogOnDisk, CutsOffWhatAFullDiskLeftOfARecord) {
  Log log = open();
  run(log);
  const std::string before = read("2025-11-07.jsonl");
  const std::string head = read("head");
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{before.size() + 100, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &tight);
  const auto receipt = log.begin(a_run(log));
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, ignored);
  ASSERT_FALSE(receipt.has_value());
  EXPECT_EQ(receipt.error().kind, ErrorKind::Audit);
  EXPECT_EQ(read("2025-11-07.jsonl"), before);
  EXPECT_EQ(read("head"), head);
  run(log);
  EXPECT_EQ(records("2025-11-07.jsonl").size(), 4U);
}

TEST_F(LogOnDisk, AdoptsARecordWhoseWriterDiedBeforeTheHead) {
  Log log = open();
  run(log);
  const std::string head = read("head");
  const auto receipt = log.begin(a_run(log));
  ASSERT_TRUE(receipt.has_value());
  // As if it had died right behind its write.
  put("head", head);
  Log next = open();
  run(next);
  // With a note that names it.
  EXPECT_EQ(records("2025-11-07.jsonl").size(), 6U);
  EXPECT_NE(read("2025-11-07.jsonl").find(R"("adopted_from":3,"adopted_to":3)"), std::string::npos);
  // The action it began is known to be open.
  EXPECT_TRUE(next.close(*receipt, {}).has_value());
}

TEST_F(LogOnDisk, ClosesWhatAnEarlierStartOfTheHostLeftOpen) {
  Log before = open("00000000-0000-4000-8000-00000000000b");
  run(before);
  const auto receipt = before.begin(a_run(before));
  ASSERT_TRUE(receipt.has_value());
  Log log = open();
  const auto lost = log.close_lost();
  ASSERT_TRUE(lost.has_value()) << message(lost.error());
  EXPECT_EQ(*lost, std::vector<std::string>{receipt->event_id});
  const auto found = records("2025-11-07.jsonl");
  EXPECT_EQ(found.back().reason, "crash");
  EXPECT_TRUE(log.close_lost()->empty());
}

TEST_F(LogOnDisk, DoesNotCloseWhatAnotherPidNamespaceHasOpen) {
  auto elsewhere = identify_writer();
  ASSERT_TRUE(elsewhere.has_value());
  elsewhere->boot_id = "00000000-0000-4000-8000-00000000000a";
  elsewhere->pid = 3'999'999;
  elsewhere->pid_namespace += 1;
  auto other = Log::open(place_, *elsewhere, MovedClock::clock(kNoon));
  ASSERT_TRUE(other.has_value() && other->begin(a_run(*other)).has_value());
  Log log = open();
  EXPECT_TRUE(log.close_lost()->empty());
}

TEST_F(LogOnDisk, ClosesWhatAReusedProcessNumberHides) {
  auto dead = identify_writer();
  ASSERT_TRUE(dead.has_value());
  dead->boot_id = "00000000-0000-4000-8000-00000000000a";
  // This very process, but the record is older than its start.
  Clock clock = MovedClock::clock(kNoon);
  clock.boot_ms = [] { return std::uint64_t{1}; };
  auto other = Log::open(place_, *dead, clock);
  ASSERT_TRUE(other.has_value() && other->begin(a_run(*other)).has_value());
  Log log = open();
  EXPECT_EQ(log.close_lost()->size(), 1U);
}

TEST_F(LogOnDisk, BelievesTheRecordsAndNotTheTableOfOpenActions) {
  Log log = open();
  const auto receipt = log.begin(a_run(log));
  ASSERT_TRUE(receipt.has_value());
  std::string table = read("open");
  table[8] = static_cast<char>(table[8] ^ 0x55);      // the place of the record
  table[16] = table[17] = table[18] = table[19] = 0;  // its writer: nobody
  put("open", table);
  EXPECT_TRUE(log.close_lost()->empty());
  EXPECT_EQ(records("2025-11-07.jsonl").size(), 1U);
}

TEST_F(LogOnDisk, RefusesADirectoryThatIsNotItsOwn) {
  { Log log = open(); }
  ::chmod(place_.directory.c_str(), 0755);
  auto loose = Log::open(place_);
  ASSERT_FALSE(loose.has_value());
  EXPECT_EQ(loose.error().kind, ErrorKind::Audit);
  ::chmod(place_.directory.c_str(), 0700);
  EXPECT_TRUE(Log::open(place_).has_value());
  ::chmod(path("key").c_str(), 0640);
  EXPECT_FALSE(Log::open(place_).has_value());
}

TEST_F(LogOnDisk, RefusesAFifoInThePlaceOfAFile) {
  Log log = open();
  std::filesystem::remove(path("head"));
  ASSERT_EQ(::mkfifo(path("head").c_str(), 0600), 0);
  EXPECT_FALSE(Log::open(place_).has_value());
}

TEST_F(LogOnDisk, TakesNoRecordOfAHeadMadeWithAnotherKey) {
  Log log = open();
  run(log);
  Key other{};
  Head head;
  head.boot_id = "00000000-0000-4000-8000-00000000000a";
  put("head", encode_head(head, other));
  EXPECT_FALSE(log.begin(a_run(log)).has_value());
}

// Every sequence of short deaths: the bytes a writer had written when it died, at every length.
TEST_F(LogOnDisk, HealsATornLineOfAnyLength) {
  Log log = open();
  run(log);
  const std::string good = read("2025-11-07.jsonl");
  const std::string good_head = read("head");
  const std::string good_table = read("open");
  run(log);
  const std::string more = read("2025-11-07.jsonl");
  const std::size_t next_line = more.find('\n', good.size()) + 1;
  for (std::size_t length = good.size() + 1; length <= next_line; length += 7) {
    put("2025-11-07.jsonl", more.substr(0, length));
    put("head", good_head);
    put("open", good_table);
    Log next = open();
    run(next);
    const auto found = records("2025-11-07.jsonl");
    const bool whole = length == next_line;
    ASSERT_EQ(found.size(), whole ? 6U : 5U) << length;
    EXPECT_EQ(found[2].phase, whole ? Phase::Pending : Phase::Note) << length;
  }
}

TEST_F(LogOnDisk, RecorderDeniesUnlessTheOperatorChoseOtherwise) {
  const Place nowhere{base_ + "/file/audit"};
  std::ofstream(base_ + "/file") << "x";
  Caller caller;
  caller.home = "/home/u";
  for (const AuditFailure choice : {AuditFailure::Deny, AuditFailure::Buffer, AuditFailure::Warn}) {
    Recorder recorder(nowhere, {choice, {}});
    const auto redactor = recorder.redactor(caller);
    ASSERT_EQ(redactor.has_value(), choice != AuditFailure::Deny);
    const auto ticket = recorder.begin(redactor ? redactor->pending({}) : Pending{});
    EXPECT_EQ(ticket.has_value(), choice != AuditFailure::Deny);
    if (ticket) {
      EXPECT_EQ(ticket->unwritten->kind, ErrorKind::Audit);
      EXPECT_TRUE(recorder.close(*ticket, {}).has_value());
    }
  }
}

TEST_F(LogOnDisk, RecorderKeepsTheEndOfAnActionThatWasBegun) {
  for (const AuditFailure choice : {AuditFailure::Deny, AuditFailure::Buffer, AuditFailure::Warn}) {
    std::filesystem::remove_all(place_.directory);
    Recorder recorder(place_, {choice, {}});
    const auto redactor = recorder.redactor({});
    ASSERT_TRUE(redactor.has_value());
    const auto ticket = recorder.begin(redactor->pending({}));
    ASSERT_TRUE(ticket.has_value() && !ticket->unwritten);
    std::filesystem::rename(place_.directory, base_ + "/aside");
    Closing closing;
    closing.ending = Ending::Timeout;
    EXPECT_EQ(recorder.close(*ticket, closing).has_value(), choice != AuditFailure::Deny);
    std::filesystem::rename(base_ + "/aside", place_.directory);
    ASSERT_TRUE(recorder.close_lost().has_value());
    const auto verified = verify(place_, {});
    ASSERT_TRUE(verified.has_value() && verified->holds());
    EXPECT_EQ(verified->open, choice == AuditFailure::Deny ? 1U : 0U);
    // A second end is no reason to stop taking records.
    (void)recorder.close(*ticket, closing);
    const auto next = recorder.begin(redactor->pending({}));
    EXPECT_TRUE(next.has_value() && !next->unwritten);
  }
}

TEST_F(LogOnDisk, RecorderKeepsABoundedNumber) {
  std::ofstream(base_ + "/state") << "in the way";
  Recorder recorder(place_, {AuditFailure::Buffer, {}});
  const auto redactor = recorder.redactor({});
  ASSERT_TRUE(redactor.has_value());
  for (int i = 0; i < 1030; ++i) {
    const auto ticket = recorder.begin(redactor->pending({}));
    ASSERT_TRUE(ticket.has_value());
    EXPECT_TRUE(recorder.close(*ticket, {}).has_value());
  }
  std::filesystem::remove(base_ + "/state");
  ASSERT_TRUE(recorder.close_lost().has_value());
  const auto verified = verify(place_, {});
  ASSERT_TRUE(verified.has_value()) << message(verified.error());
  EXPECT_TRUE(verified->holds());
  EXPECT_EQ(verified->records, 2 * 1024 + 1U);
  EXPECT_EQ(verified->open, 0U);
}

}  // namespace
}  // namespace cordon::audit
