#include "sys/sockets.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/fd.h"

namespace cordon::sys {
namespace {

sockaddr_in loopback(in_port_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = port;
  return address;
}

Fd bound(sockaddr_in& address) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  address = loopback(0);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  return socket;
}

TEST(Sockets, KnowsASocketThatReachedItself) {
  sockaddr_in own{};
  const Fd alone = bound(own);
  ASSERT_EQ(::connect(alone.get(), reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
  EXPECT_TRUE(is_connected_to_itself(alone.get()));

  sockaddr_in there{};
  const Fd server = bound(there);
  ASSERT_EQ(::listen(server.get(), 1), 0);
  const Fd caller(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_FALSE(is_connected_to_itself(caller.get()));
  ASSERT_EQ(::connect(caller.get(), reinterpret_cast<sockaddr*>(&there), sizeof there), 0);
  EXPECT_FALSE(is_connected_to_itself(caller.get()));
}

TEST(Sockets, OneThatReachedItselfLeavesItsPortWhenItIsReset) {
  const auto bind_again = [](sockaddr_in own) {
    const Fd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return ::bind(server.get(), reinterpret_cast<sockaddr*>(&own), sizeof own);
  };
  sockaddr_in own{};
  Fd alone = bound(own);
  ASSERT_EQ(::connect(alone.get(), reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
  close_with_reset(std::move(alone));
  EXPECT_EQ(bind_again(own), 0);
  // The control: ended in order, it keeps the port.
  alone = bound(own);
  ASSERT_EQ(::connect(alone.get(), reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
  alone.reset();
  EXPECT_EQ(bind_again(own), -1);
}

}  // namespace
}  // namespace cordon::sys
