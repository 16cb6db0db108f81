// Where an OTLP receiver is: otlp+https://HOST:PORT[/PATH]. The first half of the scheme says what
// is spoken and the second one how, as an address of git or of PostgreSQL does: https:// alone
// would leave open what is sent there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cordon::ship {

struct OtlpAddress {
  enum class Way {
    Tls,
    PlainHere,      // HTTP to this host alone
    PlainAnywhere,  // the person has given up TLS
  };
  Way way = Way::Tls;
  std::string host;  // without brackets
  std::uint16_t port = 0;
  std::string path;

  [[nodiscard]] std::string authority() const;  // "[::1]:4318"
  [[nodiscard]] std::string shown() const;      // never has a secret that an address may not hold
};

// Whether the person means OTLP, be it spelled as it should or not.
bool is_otlp(std::string_view address);

enum class WithoutTls { Refused, Permitted };
// Refuses what may hold a secret, user info and queries, and repeats nothing of it: a command line
// is read by everybody on the host.
Result<OtlpAddress> read_otlp_address(std::string_view address, WithoutTls without_tls);

}  // namespace cordon::ship
