// DNS messages as far as the resolver inside a sandbox needs them: one question in, its answer out.
// Reading is the C library's (ns_initparse).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/address.h"

namespace cordon {

using DnsBytes = std::vector<std::uint8_t>;

struct DnsQuestion {
  std::uint16_t id = 0;
  std::uint16_t flags = 0;  // as they came
  std::uint16_t type = 0;
  std::uint16_t klass = 0;
  std::string name;  // lower case, without a trailing dot, odd bytes escaped with a backslash
  DnsBytes wire;     // the question as it came, to be repeated in the answer
};

enum class DnsCode { NoError = 0, ServerFailure = 2, NoSuchName = 3, NotImplemented = 4 };

// Nothing for whatever is not one well-formed question.
std::optional<DnsQuestion> read_question(std::span<const std::uint8_t> message);
// The addresses must be of the type that was asked for.
DnsBytes write_answer(const DnsQuestion& question, DnsCode code,
                      std::span<const Address> addresses);

inline constexpr std::uint16_t kDnsTypeA = 1;
inline constexpr std::uint16_t kDnsTypeAaaa = 28;
inline constexpr std::uint16_t kDnsTypePtr = 12;

}  // namespace cordon
