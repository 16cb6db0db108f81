// DNS messages as far as the resolver inside a sandbox needs them: one question in, its answer out.
// Reading is the C library's (ns_initparse).
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "egress/meter.h"
#include "egress/rules.h"
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

// SyntheticNames: the addresses that stand for names inside one sandbox. A name keeps its addresses
// for the run, and an address leads back to the name that was asked for.

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

// Resolver: answers DNS inside one sandbox, over datagrams and streams. Allowed names get synthetic
// addresses, other names do not exist. It asks nobody: what a program asks never leaves the host.

class Resolver {
 public:
  enum class Ipv6 { No, Yes };
  // The references must outlive it. Without IPv6 on the host names have no IPv6 address inside:
  // programs would try it first and in vain.
  Resolver(const RulesSource& rules, SyntheticNames& names, Attempts& attempts, Ipv6 ipv6)
      : rules_(rules), names_(names), attempts_(attempts), ipv6_(ipv6) {}

  // The answer to one message; empty if it deserves none.
  DnsBytes answer(std::span<const std::uint8_t> message);

  // Answers the questions that a stream has complete; what is left of one stays in `pending`. False
  // when the stream has ended or does not keep to the protocol.
  bool converse(int stream, DnsBytes& pending);

  // Answers until `stop` is readable. The sockets are non-blocking; `streams` listens.
  void serve(int datagrams, int streams, int stop);

 private:
  [[nodiscard]] std::optional<Address> address_of(const DnsQuestion& question);

  const RulesSource& rules_;
  SyntheticNames& names_;
  Attempts& attempts_;
  Ipv6 ipv6_;
};

}  // namespace cordon
