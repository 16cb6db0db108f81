#include "egress/dial.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>

namespace cordon {
namespace {

struct Pair {
  Pair() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    ours = Fd(ends[0]);
    theirs = Fd(ends[1]);
  }
  Fd ours;
  Fd theirs;
};

struct Tunnelled {
  Pair client;
  Pair server;
  Tunnel tunnel{std::move(client.theirs), std::move(server.theirs)};
};

std::string take(const Fd& fd) {
  std::string text(1 << 20, '\0');
  const ssize_t got = ::recv(fd.get(), text.data(), text.size(), MSG_DONTWAIT);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

bool at_end(const Fd& fd) {
  char byte = 0;
  return ::recv(fd.get(), &byte, 1, MSG_DONTWAIT) == 0;
}

void say(const Fd& fd, const std::string& text) {
  ASSERT_EQ(::send(fd.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
}

TEST(Tunnel, CarriesBothWays) {
  Tunnelled t;
  say(t.client.ours, "question");
  EXPECT_TRUE(t.tunnel.carry());
  EXPECT_EQ(take(t.server.ours), "question");
  say(t.server.ours, "answer");
  EXPECT_TRUE(t.tunnel.carry());
  EXPECT_EQ(take(t.client.ours), "answer");
  EXPECT_EQ(t.tunnel.bytes_in(), 8U);
  EXPECT_EQ(t.tunnel.bytes_out(), 6U);
}

TEST(Tunnel, OneDirectionEndsAndTheOtherGoesOn) {
  Tunnelled t;
  say(t.client.ours, "all of it");
  ASSERT_EQ(::shutdown(t.client.ours.get(), SHUT_WR), 0);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(t.tunnel.carry());
  EXPECT_EQ(take(t.server.ours), "all of it");
  EXPECT_TRUE(at_end(t.server.ours));
  // Nothing is waited for on a side that has said everything: it would be ready for ever.
  EXPECT_EQ(t.tunnel.wanted()[0].fd, -1);
  say(t.server.ours, "the answer");
  EXPECT_TRUE(t.tunnel.carry());
  EXPECT_EQ(take(t.client.ours), "the answer");
  t.server.ours.reset();
  EXPECT_FALSE(t.tunnel.carry());
  EXPECT_TRUE(at_end(t.client.ours));
}

TEST(Tunnel, ASlowReaderStopsTheWriter) {
  Tunnelled t;
  const std::string block(65'536, 'x');
  std::size_t written = 0;
  for (int i = 0; i < 1000; ++i) {
    const ssize_t sent = ::send(t.client.ours.get(), block.data(), block.size(), MSG_DONTWAIT);
    if (sent > 0) written += static_cast<std::size_t>(sent);
    ASSERT_TRUE(t.tunnel.carry());
  }
  const auto [outside, inside] = t.tunnel.wanted();
  EXPECT_EQ(outside.fd, -1) << "it reads on although nobody takes";
  EXPECT_NE(inside.events & POLLOUT, 0);
  EXPECT_LT(written, std::size_t{4} << 20U);
  std::size_t arrived = 0;
  for (int i = 0; i < 1000 && arrived < written; ++i) {
    arrived += take(t.server.ours).size();
    ASSERT_TRUE(t.tunnel.carry());
  }
  EXPECT_EQ(arrived, written);
}

TEST(Tunnel, AReaderThatIsGoneEndsIt) {
  Tunnelled t;
  t.server.ours.reset();
  say(t.client.ours, "nobody hears this");
  bool goes_on = true;
  for (int i = 0; i < 3 && goes_on; ++i) goes_on = t.tunnel.carry();
  EXPECT_FALSE(goes_on);
}

}  // namespace
}  // namespace cordon
