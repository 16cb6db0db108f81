// Resolver: answers DNS inside one sandbox, over datagrams and streams. Allowed names get synthetic
// addresses, other names do not exist. It asks nobody: what a program asks never leaves the host.
#pragma once

#include "egress/attempts.h"
#include "egress/dns_message.h"
#include "egress/rules_source.h"
#include "egress/synthetic_names.h"

namespace cordon {

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
