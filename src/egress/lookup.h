// Lookup: the real addresses of a name, as the host sees them: its hosts file, then DNS, without
// search domains. Answers are kept for a few seconds, so that the connections of one program that
// follow each other ask once.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "policy/address.h"

namespace cordon {

// Thread-safe. A lookup may take as long as the host's name servers let it, a few seconds each.
class Lookup {
 public:
  // In the host's order of preference; empty if the name leads nowhere or nobody could tell.
  std::vector<Address> addresses_of(const std::string& name);

 private:
  struct Known {
    std::vector<Address> addresses;
    std::chrono::steady_clock::time_point until;
  };
  std::mutex mutex_;
  std::map<std::string, Known> known_;
};

}  // namespace cordon
