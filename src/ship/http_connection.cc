#include "ship/http_connection.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "base/text.h"
#include "sys/sockets.h"

namespace cordon::ship {
namespace {

using std::chrono::seconds;

constexpr seconds kConnectWithin{10};
constexpr seconds kHandshakeWithin{30};
constexpr seconds kReceiverSilence{60};
// A peer that goes on a byte a minute is one that does not answer.
constexpr seconds kExchangeWithin{300};
constexpr std::size_t kMostAnswer = std::size_t{64} * 1024;
constexpr int kMostInterim = 8;

using Places = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

bool is_of_this_host(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    return (ntohl(four.sin_addr.s_addr) >> 24U) == 127;
  }
  if (address.sa_family != AF_INET6) return false;
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr) != 0;
}

std::string request_head(const OtlpAddress& address, std::string_view fields, std::size_t length) {
  std::string head = "POST " + address.path + " HTTP/1.1\r\nHost: " + address.authority() +
                     "\r\nUser-Agent: cordon-ship/" CORDON_VERSION
                     "\r\nContent-Type: application/json\r\nAccept: application/json\r\n"
                     "Content-Length: " +
                     std::to_string(length) + "\r\n";
  return head.append(fields) + "\r\n";
}

}  // namespace

Trouble HttpConnection::away(const std::string& what, int why) const {
  return {Trouble::Kind::Away, setup_error(address_.shown() + ": " + what, why)};
}

Trouble HttpConnection::no_answer(const std::string& what) const {
  return setup_error(address_.shown() + ": " + what, 0,
                     "the address has to be that of an OTLP receiver for HTTP");
}

Answer<void> HttpConnection::wait(std::uint32_t wants, Clock::time_point until,
                                  std::string_view meanwhile) {
  const auto events = static_cast<short>(((wants & EPOLLIN) != 0 ? POLLIN : 0) |
                                         ((wants & EPOLLOUT) != 0 ? POLLOUT : 0));
  CORDON_TRY(ready, interruption_.wait_until(channel_.socket(), events, until));
  if (ready) return {};
  return tl::make_unexpected(away(std::string(meanwhile)));
}

void HttpConnection::close() { channel_.close(); }

Answer<void> HttpConnection::connect_to(const addrinfo& place) {
  // Told before anything is sent: a name can lead anywhere.
  if (address_.way == OtlpAddress::Way::PlainHere && !is_of_this_host(*place.ai_addr)) {
    return tl::make_unexpected(Trouble(usage_error(
        "the name " + address_.host + " leads to another host, which is not spoken to without TLS",
        "write otlp+https://" + address_.authority())));
  }
  Fd socket(::socket(place.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return tl::make_unexpected(away("cannot make a socket", errno));
  if (::connect(socket.get(), place.ai_addr, place.ai_addrlen) != 0 && errno != EINPROGRESS)
    return tl::make_unexpected(away("cannot be reached", errno));
  CORDON_TRY(ready, interruption_.wait_until(socket.get(), POLLOUT, Clock::now() + kConnectWithin));
  if (!ready) return tl::make_unexpected(away("cannot be reached in time"));
  int why = 0;
  socklen_t size = sizeof why;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &why, &size) != 0) why = errno;
  // The receiver is away. It would be its own request that it read as the answer.
  if (why == 0 && sys::is_connected_to_itself(socket.get())) {
    sys::close_with_reset(std::move(socket));
    why = ECONNREFUSED;
  }
  if (why != 0) return tl::make_unexpected(away("cannot be reached", why));
  channel_ = web::Channel(std::move(socket));
  return {};
}

Answer<void> HttpConnection::shake_hands() {
  web::Ssl ssl = tls_->open(address_.host, channel_.socket());
  if (!ssl) return tl::make_unexpected(Trouble(setup_error("TLS cannot be set up", 0)));
  channel_.secure(std::move(ssl));
  const auto until = Clock::now() + kHandshakeWithin;
  for (;;) {
    const auto state = channel_.shake_hands();
    if (state == web::Channel::State::Ok) break;
    if (state == web::Channel::State::Blocked) {
      CORDON_CHECK(wait(channel_.wants(), until, "does not answer as TLS does in time"));
      continue;
    }
    const std::string why = web::UpstreamTls::failure(channel_.ssl());
    if (SSL_get_verify_result(channel_.ssl()) == X509_V_OK) return tl::make_unexpected(away(why));
    return tl::make_unexpected(Trouble(setup_error(
        address_.shown() + ": " + why, 0,
        "OTEL_EXPORTER_OTLP_CERTIFICATE=FILE names the authority that signed it, if the host does "
        "not trust it")));
  }
  if (!web::UpstreamTls::speaks_http1(channel_.ssl()))
    return tl::make_unexpected(no_answer("it does not speak HTTP/1.1"));
  return {};
}

Answer<void> HttpConnection::open() {
  close();
  used_ = false;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed =
      ::getaddrinfo(address_.host.c_str(), std::to_string(address_.port).c_str(), &hints, &found);
  if (failed != 0) {
    return tl::make_unexpected(
        away(failed == EAI_SYSTEM ? "cannot be looked up" : ::gai_strerror(failed),
             failed == EAI_SYSTEM ? errno : 0));
  }
  const Places places(found, ::freeaddrinfo);
  Answer<void> done = tl::make_unexpected(away("has no address"));
  for (const addrinfo* place = found; place != nullptr; place = place->ai_next) {
    done = connect_to(*place);
    if (done || done.error().kind != Trouble::Kind::Away) break;
  }
  if (done && tls_ != nullptr) done = shake_hands();
  if (!done) close();
  return done;
}

// Takes what is there, or waits until something comes.
Answer<void> HttpConnection::receive(Exchange& exchange) {
  std::array<char, std::size_t{16} * 1024> room{};
  for (;;) {
    const auto moved = channel_.read(room);
    switch (moved.state) {
      case web::Channel::State::Ok:
        exchange.received.append(room.data(), moved.bytes);
        exchange.answered = true;
        return {};
      case web::Channel::State::Blocked:
        CORDON_CHECK(wait(channel_.wants(),
                          std::min(Clock::now() + kReceiverSilence, exchange.until),
                          "did not answer in time"));
        break;
      case web::Channel::State::Ended:
      case web::Channel::State::Broken:
        exchange.ended = true;
        return {};
    }
  }
}

// Ends early where the server answers before it has read everything, or reads no more: its answer
// says why.
Answer<void> HttpConnection::send(Exchange& exchange) {
  std::array<char, 4096> room{};
  while (exchange.sent < exchange.unsent.size()) {
    const auto moved = channel_.write(std::string_view(exchange.unsent).substr(exchange.sent));
    if (moved.state == web::Channel::State::Ok) {
      exchange.sent += moved.bytes;
      continue;
    }
    if (moved.state != web::Channel::State::Blocked) return {};
    const std::uint32_t write_wants = channel_.wants();
    const auto early = channel_.read(room);
    if (early.state == web::Channel::State::Ok) {
      exchange.received.append(room.data(), early.bytes);
      exchange.answered = true;
      return {};
    }
    if (early.state != web::Channel::State::Blocked) return {};
    CORDON_CHECK(wait(write_wants | EPOLLIN,
                      std::min(Clock::now() + kReceiverSilence, exchange.until),
                      "did not take what was sent in time"));
  }
  return {};
}

// True once the head is read.
Answer<bool> HttpConnection::read_head(Exchange& exchange, web::MessageReader& reader) const {
  const auto size = web::head_size(exchange.received);
  if (size.value_or(exchange.received.size()) > web::kMostHead)
    return tl::make_unexpected(no_answer("the head of its answer is too long"));
  const std::string head = exchange.received.substr(0, size.value_or(exchange.received.size()));
  const bool http = std::string_view("HTTP/1.").starts_with(std::string_view(head).substr(0, 7));
  if (!http || web::has_bare_line_end(head))
    return tl::make_unexpected(no_answer("its answer is not one of HTTP/1.1"));
  if (!size) return false;
  exchange.received.erase(0, *size);
  if (web::ambiguity_of(head) || reader.put(head).fault || !reader.has_head())
    return tl::make_unexpected(no_answer("its answer is not one of HTTP/1.1"));
  return true;
}

// True if something was read, or nothing more is to be.
Answer<bool> HttpConnection::read_body(Exchange& exchange, web::MessageReader& reader,
                                       HttpAnswer& answer) const {
  const auto step = reader.put(exchange.received);
  if (step.fault || (step.consumed == 0 && exchange.received.size() >= kMostAnswer))
    return tl::make_unexpected(no_answer("the body of its answer cannot be read"));
  const std::size_t left = kMostAnswer - answer.body.size();
  answer.whole = step.piece.size() <= left;
  answer.body.append(step.piece.substr(0, left));
  exchange.received.erase(0, step.consumed);
  return step.consumed > 0;
}

Answer<HttpAnswer> HttpConnection::read_answer(Exchange& exchange) {
  HttpAnswer answer;
  for (int interim = 0; interim <= kMostInterim; ++interim) {
    web::MessageReader reader(web::MessageReader::Of::Response);
    while (!reader.is_whole() && answer.whole) {
      CORDON_TRY(read, reader.has_head() ? read_body(exchange, reader, answer)
                                         : read_head(exchange, reader));
      if (read) continue;
      if (!exchange.ended) {
        CORDON_CHECK(receive(exchange));
      } else if (reader.end()) {
        break;
      } else {
        return tl::make_unexpected(away("it closed the connection before it had answered"));
      }
    }
    answer.status = reader.head().status;
    if (answer.status >= 100 && answer.status != 101 && answer.status < 200) continue;
    answer.retry_after = reader.head().value("retry-after");
    const bool stays = reader.is_whole() && reader.keeps_alive() && exchange.received.empty() &&
                       exchange.sent == exchange.unsent.size() && !exchange.ended;
    if (!stays) close();
    return answer;
  }
  return tl::make_unexpected(no_answer("it never comes to an answer"));
}

Answer<HttpAnswer> HttpConnection::post(std::string_view fields, std::string_view document) {
  for (;;) {
    if (!channel_.is_open()) CORDON_CHECK(open());
    Exchange exchange;
    exchange.unsent = request_head(address_, fields, document.size()).append(document);
    exchange.until = Clock::now() + kExchangeWithin;
    CORDON_CHECK(send(exchange));
    if (!exchange.answered) CORDON_CHECK(receive(exchange));
    if (!exchange.answered && used_) {
      close();
      continue;
    }
    used_ = true;
    return read_answer(exchange);
  }
}

}  // namespace cordon::ship
