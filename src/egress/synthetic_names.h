// SyntheticNames: the addresses that stand for names inside one sandbox. A name keeps its addresses
// for the run, and an address leads back to the name that was asked for.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "policy/address.h"

namespace cordon {

// Thread-safe. Names are lower case without a trailing dot.
class SyntheticNames {
 public:
  // Nothing once the names are used up: a sandbox cannot fill this memory.
  std::optional<Address> address_of(const std::string& name, Address::Family family);
  std::optional<std::string> name_of(const Address& address) const;

  // True for every address that could stand for a name.
  static bool holds(const Address& address);

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::size_t> numbers_;
};

}  // namespace cordon
