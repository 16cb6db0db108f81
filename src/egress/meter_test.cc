// Against the kernel: sockets of this network's own loopback.
#include "egress/meter.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <thread>

#include "egress/endpoint.h"

namespace cordon {
namespace {

struct Connected {
  Connected() {
    const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    SocketAddress address = write_endpoint(loopback_at(AF_INET, 0), AF_INET);
    EXPECT_EQ(::bind(listener.get(), address.get(), address.size), 0);
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    auto* where = reinterpret_cast<sockaddr*>(&address.storage);
    EXPECT_EQ(::getsockname(listener.get(), where, &address.size), 0);
    client = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(client.get(), address.get(), address.size), 0);
    server = Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  Fd client;
  Fd server;
};

void carry(const Fd& from, const Fd& to, std::size_t size) {
  const std::string bytes(size, 'x');
  ASSERT_EQ(::send(from.get(), bytes.data(), size, 0), static_cast<ssize_t>(size));
  std::string into(size, '\0');
  ASSERT_EQ(::recv(to.get(), into.data(), size, MSG_WAITALL), static_cast<ssize_t>(size));
}

Connection some() {
  Connection connection;
  connection.address = "127.0.0.1";
  connection.allowed = true;
  return connection;
}

bool is_over(const Meter& meter) {
  pollfd polled{meter.over_descriptor(), POLLIN, 0};
  return ::poll(&polled, 1, 0) == 1;
}

TEST(Meter, CountsWhatEndedAndWhatGoesOn) {
  auto meter = Meter::make(std::nullopt).value();
  Attempts attempts;
  Connected ended;
  Connected goes_on;
  meter->add(ended.client.get(), attempts.add(some()));
  meter->add(goes_on.client.get(), attempts.add(some()));
  carry(ended.client, ended.server, 1000);
  carry(ended.server, ended.client, 50);
  carry(goes_on.client, goes_on.server, 7);
  ended.client.reset();
  ended.server.reset();
  meter->settle(attempts);
  ASSERT_EQ(attempts.connections().size(), 1U);
  EXPECT_EQ(attempts.connections()[0].count, 2U);
  EXPECT_EQ(attempts.connections()[0].sent, 1007U);
  // The kernel counts the end of a stream as one byte more.
  EXPECT_GE(attempts.connections()[0].received, 50U);
  EXPECT_LE(attempts.connections()[0].received, 51U);
}

TEST(Meter, SaysWhenMoreWasSentThanMayBe) {
  auto meter = Meter::make(1000).value();
  const Fd stop(::eventfd(0, EFD_CLOEXEC));
  std::thread counting([&] { meter->serve(stop.get()); });
  Connected within;
  meter->add(within.client.get(), std::nullopt);
  carry(within.client, within.server, 1000);
  within.client.reset();
  within.server.reset();
  Connected beyond;
  meter->add(beyond.client.get(), std::nullopt);
  EXPECT_FALSE(is_over(*meter));
  carry(beyond.client, beyond.server, 1);
  pollfd polled{meter->over_descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&polled, 1, 60'000), 1);
  const std::uint64_t one = 1;
  ASSERT_EQ(::write(stop.get(), &one, sizeof one), 8);
  counting.join();
}

}  // namespace
}  // namespace cordon
