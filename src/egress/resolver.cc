#include "egress/resolver.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <list>

#include "base/fd.h"
#include "policy/decide_address.h"
#include "policy/host_rule.h"

namespace cordon {
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
