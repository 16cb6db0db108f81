#include "faces/cli/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace cordon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Report ended(End end) {
  Report report;
  report.run_id = "0123456789abcdef";
  report.enforcement.backend = "native";
  report.enforcement.namespaces = true;
  report.enforcement.seccomp = true;
  report.enforcement.network = "none";
  report.outcome.emplace();
  report.outcome->end = std::move(end);
  report.outcome->duration_ms = 1234;
  report.outcome->usage = {90, 3'500'000};
  return report;
}

TEST(Summary, OfARunWithoutTroubleIsShort) {
  EXPECT_EQ(summary_text(ended(Exited{0})),
            "  run       0123456789abcdef: exit 0 after 1.2s\n"
            "  held by   native: namespaces, seccomp; network none\n"
            "  used      90ms of processor time, at most 3.3M of memory\n"
            "  denied    nothing\n");
}

TEST(Summary, NeverHasMoreThanTenLines) {
  Report report = ended(OverLimit{"oom"});
  report.enforcement.missing = {"landlock"};
  report.enforcement.lost = {Loss::MemoryBurst};
  report.enforcement.limits = {{"memory", "cgroup"}, {"pids", "cgroup"}, {"files", "rlimit"}};
  for (int number = 0; number < 50; ++number) {
    report.reductions.push_back({"write", "/x" + std::to_string(number), std::nullopt,
                                 Reduction::Because::OutsideCeiling, Origin::Document});
    report.outcome->denials.push_back({"connect", "", "broker", 2});
    report.outcome->connections.push_back({"h", "", 443, number % 2 == 0, "", "", "", 1, 2048, 10});
    report.changes.push_back({"f", Change::Kind::Added, Change::State::Held, "", ""});
  }
  report.outcome->denials.push_back({"pids", "64", "cgroup", 1});
  report.outcome->handoff.push_back({".vscode", "editor", "/kept", false, ""});
  report.audit = AuditMark{"01a1e89b", "failure", std::nullopt};
  const std::string text = summary_text(report);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10) << text;
  for (const char* part :
       {"killed at a limit (memory)", "not held  landlock, memory-burst",
        "memory, pids by cgroup; files by rlimit", "/x3 (outside-ceiling) and 46 more",
        "denied    connect 100, pids 1", "50 destinations, 25 refused; 100K sent, 500B received",
        "held 50, moved away 1; cordon changes list 0123456789abcdef",
        "recorded  cordon audit show 01a1e89b"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(Summary, OfARefusalSaysWhy) {
  Report report;
  report.run_id = "0123456789abcdef";
  report.error = Error{.kind = ErrorKind::Policy, .what = "no such preset"};
  EXPECT_THAT(summary_text(report), HasSubstr("not started"));
  EXPECT_THAT(summary_text(report), HasSubstr("because   no such preset"));
}

TEST(Summary, NamesOfTheCommandCannotMoveTheCursor) {
  Report report = ended(Exited{1});
  report.reductions.push_back({"write", "/x\n\x1b[2Jy", std::nullopt,
                               Reduction::Because::OutsideCeiling, Origin::Document});
  EXPECT_THAT(summary_text(report), Not(HasSubstr("\x1b")));
  EXPECT_THAT(summary_text(report), HasSubstr("/x\\x0a"));
}

}  // namespace
}  // namespace cordon
