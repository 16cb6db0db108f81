#include "run/request_account.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cordon {
namespace {

GateRequest asked(const std::string& path) {
  return {"[[http]] api.example.com:443", "api.example.com:443", "GET", path, ""};
}

gate::Done answered(unsigned status) {
  gate::Done done;
  done.status = status;
  done.sent = 10;
  done.received = 20;
  return done;
}

std::uint64_t count_of(const Gate::Account& account, bool (*is_it)(const SentRequests&)) {
  std::uint64_t count = 0;
  for (const SentRequests& one : account.requests)
    if (is_it(one)) count += one.count;
  return count;
}

TEST(RequestAccount, SumsUpWhatIsAlike) {
  RequestAccount account({}, {});
  for (int i = 0; i < 3; ++i) account.done(asked("/a"), answered(200));
  account.done(asked("/a"), answered(404));
  const auto settled = account.settle();
  ASSERT_EQ(settled.requests.size(), 2U);
  EXPECT_EQ(settled.requests.front().count, 3U);
  EXPECT_EQ(settled.requests.front().received, 60U);
}

TEST(RequestAccount, NothingThatWentWellIsLostAmongWhatWasRefused) {
  RequestAccount account({}, {});
  constexpr int kMany = 1500;
  for (int i = 0; i < kMany; ++i) {
    const std::string path = "/" + std::to_string(i);
    account.refused(asked(path), "GET " + path + " is outside what is granted");
  }
  account.done(asked("/out"), answered(200));
  const auto settled = account.settle();
  const auto sent = std::ranges::find(settled.requests, 200U, &SentRequests::status);
  ASSERT_NE(sent, settled.requests.end());
  EXPECT_EQ(sent->method, "GET");
  EXPECT_EQ(sent->host, "api.example.com:443");
  // The refused ones are bounded, and all counted.
  EXPECT_LE(settled.requests.size(), 1002U);
  EXPECT_EQ(count_of(settled, [](const SentRequests& one) { return one.status != 200; }), 1500U);
}

}  // namespace
}  // namespace cordon
