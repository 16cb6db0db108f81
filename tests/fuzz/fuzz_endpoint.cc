// Whatever a program hands to connect: what is read of it is written back as the same, and rules
// for ranges admit nothing that has to be named, however it is wrapped.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "egress/endpoint.h"
#include "policy/decide_net.h"
#include "policy/net_rules.h"
#include "require_that.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordon;
  sockaddr_storage bytes{};
  std::memcpy(&bytes, data, std::min(size, sizeof bytes));
  const auto endpoint = read_endpoint(bytes, std::min(size, sizeof bytes));
  if (!endpoint) return 0;
  const int domain = endpoint->address.family == Address::Family::V4 ? AF_INET : AF_INET6;
  const SocketAddress written = write_endpoint(*endpoint, domain);
  const auto again = read_endpoint(written.storage, written.size);
  require_that(again && again->address == endpoint->address && again->port == endpoint->port);
  const Address inner = innermost(endpoint->address);
  require_that(kind_of(inner) == kind_of(endpoint->address));

  NetRules net;
  net.mode = NetMode::Allow;
  net.allow = {parse_host_rule("0.0.0.0/0").value(), parse_host_rule("[::]/0").value()};
  const auto admitted = [&](std::span<const Address> own) {
    return decide_literal(net, endpoint->address, endpoint->port, own).allowed;
  };
  const AddressKind kind = kind_of(endpoint->address);
  const bool plain = kind == AddressKind::Public || kind == AddressKind::Private;
  require_that(!admitted({}) || plain);
  require_that(!admitted({&inner, 1}));
  net.deny = net.allow;
  require_that(!admitted({}));
  return 0;
}
