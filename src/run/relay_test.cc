#include "run/relay.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace cordon {
namespace {

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    reading = Fd(ends[0]);
    writing = Fd(ends[1]);
  }
  void put(std::string_view bytes) const {
    EXPECT_EQ(::write(writing.get(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }
  Fd reading;
  Fd writing;
};

// A file without a name.
Fd file_with(std::string_view content) {
  std::string name = "/tmp/cordon-relay-XXXXXX";
  Fd file(::mkostemp(name.data(), O_CLOEXEC));
  ::unlink(name.c_str());
  EXPECT_EQ(::write(file.get(), content.data(), content.size()),
            static_cast<ssize_t>(content.size()));
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

TEST(Relay, DeliversWhatItRead) {
  Pipe command;
  Pipe caller;
  Relay relay = Relay::output(std::move(command.reading), caller.writing.get());
  command.put("hello");
  relay.read_some();
  EXPECT_TRUE(relay.wants_write());
  EXPECT_EQ(relay.delivered(), 0U);
  relay.write_some();
  EXPECT_EQ(relay.delivered(), 5U);
  command.writing.reset();
  relay.read_some();
  EXPECT_TRUE(relay.over());
  EXPECT_EQ(relay.error(), 0);
}

TEST(Relay, ClosesItsEndWhenNothingMoreCanBeWritten) {
  Pipe command;
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full.valid());
  Relay relay = Relay::output(std::move(command.reading), full.get());
  command.put("lost");
  relay.read_some();
  relay.write_some();
  EXPECT_EQ(relay.error(), ENOSPC);
  EXPECT_TRUE(relay.over());
  ::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(::write(command.writing.get(), "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  ::signal(SIGPIPE, SIG_DFL);
}

TEST(Relay, SurvivesAReaderThatIsGone) {
  Pipe command;
  Pipe caller;
  Relay relay = Relay::output(std::move(command.reading), caller.writing.get());
  command.put("lost");
  relay.read_some();
  caller.reading.reset();
  relay.write_some();  // without SIGPIPE, which would end this process
  EXPECT_EQ(relay.error(), EPIPE);
}

TEST(Relay, CountsWhatIsAbandonedAsLost) {
  Pipe command;
  Pipe caller;
  Relay relay = Relay::output(std::move(command.reading), caller.writing.get());
  command.put("unread");
  relay.abandon(ETIMEDOUT);
  EXPECT_EQ(relay.error(), ETIMEDOUT);
}

TEST(Relay, LosesNothingWhereNothingWasLeft) {
  Pipe command;
  Pipe caller;
  Relay relay = Relay::output(std::move(command.reading), caller.writing.get());
  relay.abandon(ETIMEDOUT);
  EXPECT_EQ(relay.error(), 0);
  EXPECT_TRUE(relay.over());
}

TEST(Relay, LeavesThePositionOfAFileAlone) {
  const Fd file = file_with("0123456789");
  Pipe command;
  Relay relay = Relay::input_file(file.get(), 4, command.writing.get());
  relay.read_some();
  relay.write_some();
  relay.read_some();
  EXPECT_TRUE(relay.over());
  EXPECT_EQ(relay.delivered(), 6U);
  EXPECT_EQ(::lseek(file.get(), 0, SEEK_CUR), 0);
  std::array<char, 2> taken{};
  EXPECT_EQ(::read(command.reading.get(), taken.data(), taken.size()), 2);
  EXPECT_EQ(taken[0], '4');
  EXPECT_EQ(unread_bytes(command.reading.get()), 4U);
}

TEST(Relay, ReadsNothingMoreFromBytesThatAreThere) {
  Pipe command;
  Relay relay = Relay::input_bytes("given", command.writing.get());
  EXPECT_TRUE(relay.done());
  EXPECT_FALSE(relay.over());
  relay.write_some();
  EXPECT_TRUE(relay.over());
  EXPECT_TRUE(Relay::input_bytes("", command.writing.get()).over());
}

}  // namespace
}  // namespace cordon
