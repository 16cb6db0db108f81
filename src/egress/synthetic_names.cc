#include "egress/synthetic_names.h"

#include <algorithm>
#include <array>

namespace cordon {
namespace {

// Set aside for measuring networks, so nothing of value has such an address.
constexpr std::array<std::uint8_t, 2> kPrefix4{198, 18};
// A unique local network of our own.
constexpr std::array<std::uint8_t, 8> kPrefix6{0xfd, 0x63, 0x6f, 0x72, 0x64, 0x6f, 0x6e, 0x00};
constexpr std::size_t kMostNames = 65'000;

// The number is the last two bytes, beginning with 1: 198.18.0.0 stands for nothing.
Address made(std::size_t number, Address::Family family) {
  Address address;
  address.family = family;
  const bool four = family == Address::Family::V4;
  if (four) {
    std::ranges::copy(kPrefix4, address.bytes.begin());
  } else {
    std::ranges::copy(kPrefix6, address.bytes.begin());
  }
  const std::size_t last = four ? 3 : 15;
  address.bytes[last - 1] = static_cast<std::uint8_t>(number >> 8U);
  address.bytes[last] = static_cast<std::uint8_t>(number);
  return address;
}

std::size_t number_of(const Address& address) {
  const std::size_t last = address.family == Address::Family::V4 ? 3 : 15;
  return static_cast<std::size_t>(address.bytes[last - 1]) << 8U | address.bytes[last];
}

}  // namespace

std::optional<Address> SyntheticNames::address_of(const std::string& name, Address::Family family) {
  const std::lock_guard lock(mutex_);
  auto known = numbers_.find(name);
  if (known == numbers_.end()) {
    if (names_.size() >= kMostNames) return std::nullopt;
    names_.push_back(name);
    known = numbers_.emplace(name, names_.size()).first;
  }
  return made(known->second, family);
}

std::optional<std::string> SyntheticNames::name_of(const Address& address) const {
  const std::size_t number = number_of(address);
  const std::lock_guard lock(mutex_);
  if (number == 0 || number > names_.size() || made(number, address.family) != address) {
    return std::nullopt;
  }
  return names_[number - 1];
}

bool SyntheticNames::holds(const Address& address) {
  const auto& bytes = address.bytes;
  if (address.family == Address::Family::V4) {
    return bytes[0] == kPrefix4[0] && (bytes[1] & 0xfeU) == kPrefix4[1];
  }
  return std::equal(kPrefix6.begin(), kPrefix6.end(), bytes.begin());
}

}  // namespace cordon
