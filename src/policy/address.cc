#include "policy/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <span>

namespace cordon {
namespace {

using Bytes = std::array<std::uint8_t, 16>;

struct Range {
  Bytes first;
  unsigned bits;
  AddressKind kind;
};

bool begins_with(const Bytes& bytes, const Bytes& prefix, unsigned bits) {
  for (unsigned i = 0; i < bits; ++i) {
    const unsigned mask = 0x80U >> (i % 8);
    if ((bytes[i / 8] & mask) != (prefix[i / 8] & mask)) return false;
  }
  return true;
}

// The first range that fits decides, so exceptions stand before what they are exceptions from.
constexpr Range kRanges4[] = {
    {{169, 254, 169, 254}, 32, AddressKind::Metadata},
    {{169, 254, 170, 2}, 32, AddressKind::Metadata},
    {{169, 254, 42, 42}, 32, AddressKind::Metadata},
    {{168, 63, 129, 16}, 32, AddressKind::Metadata},
    {{100, 100, 100, 200}, 32, AddressKind::Metadata},
    {{192, 0, 0, 192}, 32, AddressKind::Metadata},
    {{0}, 8, AddressKind::Unspecified},
    {{10}, 8, AddressKind::Private},
    {{100, 64}, 10, AddressKind::Private},
    {{127}, 8, AddressKind::Loopback},
    {{169, 254}, 16, AddressKind::LinkLocal},
    {{172, 16}, 12, AddressKind::Private},
    {{192, 0, 0}, 24, AddressKind::Reserved},
    {{192, 168}, 16, AddressKind::Private},
    {{198, 18}, 15, AddressKind::Reserved},
    {{224}, 4, AddressKind::Multicast},
    {{255, 255, 255, 255}, 32, AddressKind::Multicast},
    {{240}, 4, AddressKind::Reserved},
};

constexpr Bytes kOne6{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
constexpr Range kRanges6[] = {
    {{0xfd, 0x00, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54},
     128,
     AddressKind::Metadata},
    {{0xfd, 0x20, 0x00, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54},
     128,
     AddressKind::Metadata},
    {{0xfd, 0x00, 0x00, 0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x42},
     128,
     AddressKind::Metadata},
    {{}, 128, AddressKind::Unspecified},
    {kOne6, 128, AddressKind::Loopback},
    {{0xfc}, 7, AddressKind::Private},
    {{0xfe, 0x80}, 10, AddressKind::LinkLocal},
    {{0xfe, 0xc0}, 10, AddressKind::Private},
    {{0xff}, 8, AddressKind::Multicast},
    // Local-use translation: which IPv4 network lies behind it is known to nobody here.
    {{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, AddressKind::Reserved},
    // Only 2000::/3 is in use as public.
    {{0x20}, 3, AddressKind::Public},
    {{}, 0, AddressKind::Reserved},
};

AddressKind find(std::span<const Range> ranges, const Bytes& bytes, AddressKind otherwise) {
  const auto found = std::ranges::find_if(
      ranges, [&](const Range& range) { return begins_with(bytes, range.first, range.bits); });
  return found == ranges.end() ? otherwise : found->kind;
}

constexpr Bytes kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr Bytes kTranslated{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr Bytes kNat64{0x00, 0x64, 0xff, 0x9b};
constexpr Bytes k6to4{0x20, 0x02};
constexpr Bytes kTeredo{0x20, 0x01, 0, 0};

Address embedded(const Bytes& bytes, std::size_t offset, std::uint8_t mask = 0) {
  Address four;
  for (std::size_t i = 0; i < 4; ++i) {
    four.bytes[i] = static_cast<std::uint8_t>(bytes[offset + i] ^ mask);
  }
  return four;
}

}  // namespace

bool is_mapped(const Address& address) {
  return address.family == Address::Family::V6 && begins_with(address.bytes, kMapped, 96);
}

Address innermost(const Address& address) {
  if (address.family == Address::Family::V4) return address;
  const Bytes& bytes = address.bytes;
  for (const Bytes& prefix : {kMapped, kTranslated, kNat64}) {
    if (begins_with(bytes, prefix, 96)) return embedded(bytes, 12);
  }
  if (begins_with(bytes, k6to4, 16)) return embedded(bytes, 2);
  // The client's address, stored inverted; the server's, at 4, is no place a packet ends.
  if (begins_with(bytes, kTeredo, 32)) return embedded(bytes, 12, 0xff);
  const bool compatible = begins_with(bytes, Bytes{}, 96) && bytes != Bytes{} && bytes != kOne6;
  return compatible ? embedded(bytes, 12) : address;
}

AddressKind kind_of(const Address& address) {
  const Address inner = innermost(address);
  if (inner.family == Address::Family::V4) return find(kRanges4, inner.bytes, AddressKind::Public);
  return find(kRanges6, inner.bytes, AddressKind::Reserved);
}

std::string_view name_of(AddressKind kind) {
  switch (kind) {
    case AddressKind::Public:
      return "public";
    case AddressKind::Private:
      return "private";
    case AddressKind::Metadata:
      return "cloud metadata";
    case AddressKind::Loopback:
      return "loopback";
    case AddressKind::LinkLocal:
      return "link-local";
    case AddressKind::Unspecified:
      return "unspecified";
    case AddressKind::Multicast:
      return "multicast";
    case AddressKind::Reserved:
      return "reserved";
  }
  return {};
}

std::string to_string(const Address& address) {
  char buffer[INET6_ADDRSTRLEN] = {};
  const int family = address.family == Address::Family::V4 ? AF_INET : AF_INET6;
  return ::inet_ntop(family, address.bytes.data(), buffer, sizeof buffer);
}

HostRule exactly(const Address& address, std::uint16_t port) {
  const bool four = address.family == Address::Family::V4;
  HostRule rule;
  rule.kind = four ? HostRule::Kind::Address4 : HostRule::Kind::Address6;
  rule.address = address.bytes;
  rule.prefix = four ? 32 : 128;
  rule.first_port = port;
  rule.last_port = port;
  return rule;
}

}  // namespace cordon
