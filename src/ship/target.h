// Which database a person named, and what is asked of the way to it: no password in the address,
// and TLS that checks who answers, unless the way is a socket of this host.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ship/libpq.h"

namespace cordon::ship {

struct Target {
  std::vector<std::pair<std::string, std::string>> settings;  // libpq's keywords
  std::string shown;  // "audit at db.example.org"; never has a secret
};

// As %XX has it in an address; what is no such escape stays.
std::string percent_decoded(std::string_view text);

// Refuses, without libpq, an address that is none of PostgreSQL's or holds a password: a command
// line is read by everybody on the host, and a shell keeps it.
Result<void> check_address(std::string_view address);

// An address that check_address takes.
Result<Target> read_target(const Libpq& pq, const std::string& address);

}  // namespace cordon::ship
