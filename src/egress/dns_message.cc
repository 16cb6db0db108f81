#include "egress/dns_message.h"

#include <arpa/nameser.h>

#include <algorithm>
#include <cctype>

namespace cordon {
namespace {

constexpr std::uint16_t kResponse = 0x8000;
constexpr std::uint16_t kRecursionAvailable = 0x0080;
constexpr std::uint16_t kKeptFlags = 0x7900;  // the kind of query, and "recursion desired"
constexpr std::uint32_t kSecondsToLive = 60;

void put(DnsBytes& out, std::uint16_t value) {
  out.push_back(static_cast<std::uint8_t>(value >> 8U));
  out.push_back(static_cast<std::uint8_t>(value));
}

void put_record(DnsBytes& out, const DnsQuestion& question, const Address& address) {
  constexpr std::uint16_t kNameOfQuestion = 0xc000 | NS_HFIXEDSZ;
  const std::uint16_t size = question.type == kDnsTypeA ? 4 : 16;
  put(out, kNameOfQuestion);
  put(out, question.type);
  put(out, question.klass);
  put(out, 0);
  put(out, kSecondsToLive);
  put(out, size);
  out.insert(out.end(), address.bytes.begin(), address.bytes.begin() + size);
}

}  // namespace

std::optional<DnsQuestion> read_question(std::span<const std::uint8_t> message) {
  ns_msg handle{};
  ns_rr record{};
  if (message.size() > NS_MAXMSG ||
      ::ns_initparse(message.data(), static_cast<int>(message.size()), &handle) < 0) {
    return std::nullopt;
  }
  const bool one_question = ns_msg_getflag(handle, ns_f_qr) == 0 &&
                            ns_msg_count(handle, ns_s_qd) == 1 &&
                            ns_msg_count(handle, ns_s_an) == 0;
  if (!one_question || ::ns_parserr(&handle, ns_s_qd, 0, &record) < 0) return std::nullopt;
  const std::uint8_t* begin = message.data() + NS_HFIXEDSZ;
  const int size = ::ns_skiprr(begin, message.data() + message.size(), ns_s_qd, 1);
  if (size < 0) return std::nullopt;

  DnsQuestion question;
  question.id = static_cast<std::uint16_t>(ns_msg_id(handle));
  question.flags = static_cast<std::uint16_t>(message[2] << 8U | message[3]);
  question.type = static_cast<std::uint16_t>(ns_rr_type(record));
  question.klass = static_cast<std::uint16_t>(ns_rr_class(record));
  question.name = ns_rr_name(record);
  std::ranges::transform(question.name, question.name.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  if (question.name.ends_with('.')) question.name.pop_back();
  question.wire.assign(begin, begin + size);
  return question;
}

DnsBytes write_answer(const DnsQuestion& question, DnsCode code,
                      std::span<const Address> addresses) {
  DnsBytes out;
  out.reserve(NS_HFIXEDSZ + question.wire.size() + addresses.size() * 28);
  put(out, question.id);
  put(out, static_cast<std::uint16_t>(kResponse | (question.flags & kKeptFlags) |
                                      kRecursionAvailable | static_cast<unsigned>(code)));
  put(out, 1);
  put(out, static_cast<std::uint16_t>(addresses.size()));
  put(out, 0);
  put(out, 0);
  out.insert(out.end(), question.wire.begin(), question.wire.end());
  for (const Address& address : addresses) put_record(out, question, address);
  return out;
}

}  // namespace cordon
