// A log in a directory of its own, for unit tests: on a real disk, with a clock that can be moved.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "audit/log.h"

namespace cordon::audit {

struct MovedClock {
  static inline std::atomic<std::int64_t> wall = 0;
  static std::int64_t wall_us() { return wall++; }
  static Clock clock(std::int64_t at) {
    wall = at;
    return {wall_us, system_clock().boot_ms};
  }
};

class TestLog : public testing::Test {
 protected:
  static constexpr std::int64_t kNoon = 1'762'516'800'000'000;  // 2025-11-07T12:00:00Z
  static constexpr std::int64_t kDay = std::int64_t{86'400} * 1'000'000;

  void SetUp() override {
    std::string pattern = testing::TempDir() + "cordon-audit.XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    place_ = {pattern + "/state/audit"};
  }
  void TearDown() override { std::filesystem::remove_all(base_); }

  Log open(const std::string& boot = "00000000-0000-4000-8000-00000000000a",
           std::int64_t at = kNoon) {
    auto writer = identify_writer();
    EXPECT_TRUE(writer.has_value());
    writer->boot_id = boot;
    auto log = Log::open(place_, *writer, MovedClock::clock(at));
    EXPECT_TRUE(log.has_value()) << message(log.error());
    return std::move(*log);
  }
  static Pending a_run(const Log& log) {
    Caller caller;
    caller.home = "/home/u";
    caller.cwd = "/home/u/p";
    Action action;
    action.cwd = caller.cwd;
    return log.redactor(caller).pending(action);
  }
  void run(Log& log) {
    const auto receipt = log.begin(a_run(log));
    ASSERT_TRUE(receipt.has_value()) << message(receipt.error());
    Closing closing;
    closing.ending = Ending::Success;
    const auto closed = log.close(*receipt, closing);
    ASSERT_TRUE(closed.has_value()) << message(closed.error());
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return place_.directory + "/" + name;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::string bytes(std::filesystem::file_size(path(name)), '\0');
    std::ifstream(path(name), std::ios::binary)
        .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return bytes;
  }
  void put(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary | std::ios::trunc) << bytes;
  }
  [[nodiscard]] std::vector<Record> records(const std::string& name) const {
    std::vector<Record> found;
    const std::string bytes = read(name);
    std::size_t at = 0;
    while (at < bytes.size()) {
      const std::size_t end = bytes.find('\n', at);
      auto record = decode_line(std::string_view(bytes).substr(at, end - at));
      EXPECT_TRUE(record.has_value() && record->intact);
      if (!record || end == std::string::npos) break;
      found.push_back(std::move(*record));
      at = end + 1;
    }
    return found;
  }

  std::string base_;
  Place place_;
};

}  // namespace cordon::audit
