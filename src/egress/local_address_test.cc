#include "egress/own_addresses.h"

#include <gtest/gtest.h>
#include <sys/un.h>

#include <cstring>

namespace cordon {
namespace {

constexpr std::size_t kBegin = offsetof(sockaddr_un, sun_path);

GivenAddress address(std::string_view path, std::size_t size, sa_family_t family = AF_UNIX) {
  GivenAddress given;
  given.bytes.ss_family = family;
  std::memcpy(reinterpret_cast<char*>(&given.bytes) + kBegin, path.data(), path.size());
  given.size = size;
  return given;
}

using Kind = LocalAddress::Kind;

TEST(LocalAddress, EndsAtItsZeroOrAtItsLength) {
  EXPECT_EQ(read_local_address(address("/tmp/a", kBegin + 7))->name, "/tmp/a");
  EXPECT_EQ(read_local_address(address("/tmp/a", kBegin + 6))->name, "/tmp/a");
  EXPECT_EQ(read_local_address(address("/tmp/a", kBegin + 4))->name, "/tmp");
  using namespace std::string_view_literals;
  EXPECT_EQ(read_local_address(address("/a\0/b"sv, kBegin + 5))->name, "/a");
  const std::string longest(108, 'x');
  EXPECT_EQ(read_local_address(address(longest, kBegin + 108))->name, longest);
  EXPECT_EQ(read_local_address(address(longest, kBegin + 108))->kind, Kind::Path);
}

TEST(LocalAddress, KeepsEveryByteOfAnAbstractName) {
  using namespace std::string_view_literals;
  const auto named = read_local_address(address("\0a\0b"sv, kBegin + 6));
  EXPECT_EQ(named->kind, Kind::Abstract);
  EXPECT_EQ(named->name, "a\0b\0\0"sv);
  EXPECT_EQ(read_local_address(address("", kBegin + 1))->kind, Kind::Abstract);
  EXPECT_EQ(read_local_address(address("", kBegin))->kind, Kind::Unnamed);
}

TEST(LocalAddress, IsNothingWhereTheKernelTakesNone) {
  EXPECT_FALSE(read_local_address(address("", 0)));
  EXPECT_FALSE(read_local_address(address("", 1)));
  EXPECT_FALSE(read_local_address(address("/a", sizeof(sockaddr_un) + 1)));
  EXPECT_FALSE(read_local_address(address("/a", kBegin + 3, AF_INET)));
  EXPECT_FALSE(read_local_address(address("/a", kBegin + 3, AF_UNSPEC)));
}

}  // namespace
}  // namespace cordon
