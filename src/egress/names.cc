#include "egress/names.h"

#include <arpa/nameser.h>
#include <sys/socket.h>

#include <poll.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <list>

#include "base/fd.h"
#include "policy/decide_net.h"
#include "policy/net_rules.h"

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

namespace {

constexpr std::uint16_t kClassInternet = 1;
constexpr std::uint16_t kKindOfQuery = 0x7800;
constexpr std::size_t kMostStreams = 32;
constexpr std::size_t kLengthBytes = 2;

constexpr Address kLoopback4{Address::Family::V4, {127, 0, 0, 1}};
constexpr Address kLoopback6{Address::Family::V6, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};

// A client's stream: questions and answers with their length before them.
struct Client {
  Fd fd;
  DnsBytes pending;
};

void answer_datagram(Resolver& resolver, int socket) {
  std::uint8_t buffer[4096];
  sockaddr_storage from{};
  socklen_t size = sizeof from;
  auto* sender = reinterpret_cast<sockaddr*>(&from);
  const ssize_t got = ::recvfrom(socket, buffer, sizeof buffer, MSG_DONTWAIT, sender, &size);
  if (got <= 0) return;
  const DnsBytes answer = resolver.answer({buffer, static_cast<std::size_t>(got)});
  if (answer.empty()) return;
  (void)::sendto(socket, answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL, sender, size);
}

void accept_stream(int listening, std::list<Client>& streams) {
  Fd fd(::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd.valid()) return;
  if (streams.size() >= kMostStreams) streams.pop_front();
  streams.push_back({std::move(fd), {}});
}

}  // namespace

std::optional<Address> Resolver::address_of(const DnsQuestion& question) {
  const bool four = question.type == kDnsTypeA;
  if (is_loopback_name(question.name)) return four ? kLoopback4 : kLoopback6;
  return names_.address_of(question.name, four ? Address::Family::V4 : Address::Family::V6);
}

DnsBytes Resolver::answer(std::span<const std::uint8_t> message) {
  const auto question = read_question(message);
  if (!question) return {};
  if ((question->flags & kKindOfQuery) != 0 || question->klass != kClassInternet) {
    return write_answer(*question, DnsCode::NotImplemented, {});
  }
  if (!is_loopback_name(question->name) && !is_known_name(*rules_.now(), question->name)) {
    if (question->type != kDnsTypePtr) attempts_.add_unknown_name(question->name);
    return write_answer(*question, DnsCode::NoSuchName, {});
  }
  const bool wanted =
      question->type == kDnsTypeA || (question->type == kDnsTypeAaaa && ipv6_ == Ipv6::Yes);
  if (!wanted) return write_answer(*question, DnsCode::NoError, {});
  const auto address = address_of(*question);
  if (!address) return write_answer(*question, DnsCode::ServerFailure, {});
  return write_answer(*question, DnsCode::NoError, {&*address, 1});
}

bool Resolver::converse(int stream, DnsBytes& pending) {
  std::uint8_t buffer[4096];
  const ssize_t got = ::recv(stream, buffer, sizeof buffer, MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return false;
  pending.insert(pending.end(), buffer, buffer + got);
  while (pending.size() >= kLengthBytes) {
    const std::size_t size = static_cast<std::size_t>(pending[0]) << 8U | pending[1];
    if (pending.size() < kLengthBytes + size) return true;
    DnsBytes reply = answer({pending.data() + kLengthBytes, size});
    if (reply.empty()) return false;
    const std::uint8_t length[] = {static_cast<std::uint8_t>(reply.size() >> 8U),
                                   static_cast<std::uint8_t>(reply.size())};
    reply.insert(reply.begin(), std::begin(length), std::end(length));
    // A client that does not read its answers is not waited for.
    const ssize_t sent = ::send(stream, reply.data(), reply.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(reply.size())) return false;
    pending.erase(pending.begin(),
                  pending.begin() + static_cast<std::ptrdiff_t>(kLengthBytes + size));
  }
  return true;
}

void Resolver::serve(int datagrams, int streams, int stop) {
  std::list<Client> open;
  std::vector<pollfd> polled;
  for (;;) {
    polled.assign({{stop, POLLIN, 0}, {datagrams, POLLIN, 0}, {streams, POLLIN, 0}});
    for (const Client& client : open) polled.push_back({client.fd.get(), POLLIN, 0});
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return;
    if (polled[0].revents != 0) return;
    std::size_t index = 3;
    for (auto stream = open.begin(); stream != open.end();) {
      const bool ended =
          polled[index++].revents != 0 && !converse(stream->fd.get(), stream->pending);
      stream = ended ? open.erase(stream) : std::next(stream);
    }
    if (polled[1].revents != 0) answer_datagram(*this, datagrams);
    if (polled[2].revents != 0) accept_stream(streams, open);
  }
}

}  // namespace cordon
