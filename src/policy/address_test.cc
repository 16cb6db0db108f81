#include "policy/address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace cordon {
namespace {

Address address(const char* text) {
  Address result;
  if (::inet_pton(AF_INET, text, result.bytes.data()) == 1) return result;
  result.family = Address::Family::V6;
  EXPECT_EQ(::inet_pton(AF_INET6, text, result.bytes.data()), 1) << text;
  return result;
}

TEST(AddressKind, IsThatOfTheRangeAnAddressLiesIn) {
  const std::pair<const char*, AddressKind> kCases[] = {
      {"93.184.216.34", AddressKind::Public},
      {"9.255.255.255", AddressKind::Public},
      {"10.0.0.0", AddressKind::Private},
      {"10.255.255.255", AddressKind::Private},
      {"11.0.0.0", AddressKind::Public},
      {"100.63.255.255", AddressKind::Public},
      {"100.64.0.0", AddressKind::Private},
      {"100.100.100.200", AddressKind::Metadata},
      {"100.127.255.255", AddressKind::Private},
      {"126.255.255.255", AddressKind::Public},
      {"127.0.0.1", AddressKind::Loopback},
      {"127.255.255.255", AddressKind::Loopback},
      {"168.63.129.16", AddressKind::Metadata},
      {"169.254.0.1", AddressKind::LinkLocal},
      {"169.254.169.254", AddressKind::Metadata},
      {"172.15.255.255", AddressKind::Public},
      {"172.16.0.0", AddressKind::Private},
      {"172.31.255.255", AddressKind::Private},
      {"172.32.0.0", AddressKind::Public},
      {"192.168.255.255", AddressKind::Private},
      {"198.18.0.1", AddressKind::Reserved},
      {"198.20.0.0", AddressKind::Public},
      {"0.0.0.0", AddressKind::Unspecified},
      {"0.1.2.3", AddressKind::Unspecified},
      {"224.0.0.1", AddressKind::Multicast},
      {"239.255.255.255", AddressKind::Multicast},
      {"240.0.0.1", AddressKind::Reserved},
      {"255.255.255.255", AddressKind::Multicast},
      {"2606:4700::1", AddressKind::Public},
      {"::", AddressKind::Unspecified},
      {"::1", AddressKind::Loopback},
      {"::2", AddressKind::Unspecified},  // 0.0.0.2 in the oldest form
      {"fe80::1", AddressKind::LinkLocal},
      {"febf::1", AddressKind::LinkLocal},
      {"fec0::1", AddressKind::Private},
      {"fc00::1", AddressKind::Private},
      {"fdff::1", AddressKind::Private},
      {"fd00:ec2::254", AddressKind::Metadata},
      {"ff02::1", AddressKind::Multicast},
      {"4000::1", AddressKind::Reserved},
      {"64:ff9b:1::1", AddressKind::Reserved},
  };
  for (const auto& [text, kind] : kCases) {
    EXPECT_EQ(name_of(kind_of(address(text))), name_of(kind)) << text;
  }
}

TEST(AddressKind, IsThatOfTheIpv4AddressInside) {
  for (const char* text : {"::ffff:10.0.0.1", "::ffff:0:10.0.0.1", "::10.0.0.1",
                           "64:ff9b::10.0.0.1", "2002:a00:1::5", "2001:0:102:304::f5ff:fffe"}) {
    EXPECT_EQ(to_string(innermost(address(text))), "10.0.0.1") << text;
    EXPECT_EQ(kind_of(address(text)), AddressKind::Private) << text;
  }
  EXPECT_EQ(kind_of(address("::ffff:127.0.0.1")), AddressKind::Loopback);
  EXPECT_EQ(kind_of(address("64:ff9b::169.254.169.254")), AddressKind::Metadata);
  EXPECT_EQ(kind_of(address("2002:7f00:1::")), AddressKind::Loopback);
  EXPECT_EQ(kind_of(address("2002:5db8:d822::")), AddressKind::Public);
}

TEST(Address, OnlyTheMappedFormIsIpv4ToTheKernel) {
  EXPECT_TRUE(is_mapped(address("::ffff:10.0.0.1")));
  for (const char* text : {"10.0.0.1", "::10.0.0.1", "64:ff9b::10.0.0.1", "2002:a00:1::5"}) {
    EXPECT_FALSE(is_mapped(address(text))) << text;
  }
}

}  // namespace
}  // namespace cordon
