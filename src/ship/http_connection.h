// HttpConnection: posts documents to one server, over one connection that stays, and reads its
// answers. What a server sends is bounded in size and time, redirects are answers like any other
// and lead nowhere, and no proxy is asked. Every wait ends when the person wants to go.
#pragma once

#include <netdb.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ship/interruption.h"
#include "ship/otlp_address.h"
#include "web/channel.h"
#include "web/message_reader.h"

namespace cordon::ship {

struct HttpAnswer {
  unsigned status = 0;
  std::string retry_after;  // as it was sent; empty if it was not
  std::string body;         // its beginning, if it is not whole
  bool whole = true;        // false: it is longer than an answer may be
};

class HttpConnection {
 public:
  // `tls` is null for a way without; both outlive this.
  HttpConnection(OtlpAddress address, const web::UpstreamTls* tls, Interruption& interruption)
      : address_(std::move(address)), tls_(tls), interruption_(interruption) {}

  Answer<void> open();
  void close();
  // `fields` are further lines of the head. A connection that the server closed while nobody used
  // it is opened again.
  Answer<HttpAnswer> post(std::string_view fields, std::string_view document);

 private:
  using Clock = std::chrono::steady_clock;
  // One exchange as far as it has come.
  struct Exchange {
    std::string unsent;
    std::size_t sent = 0;
    std::string received;   // what was not read yet
    bool answered = false;  // anything came at all
    bool ended = false;     // nothing more comes
    Clock::time_point until;
  };

  Answer<void> connect_to(const addrinfo& place);
  Answer<void> shake_hands();
  Answer<void> wait(std::uint32_t wants, Clock::time_point until, std::string_view meanwhile);
  Answer<void> receive(Exchange& exchange);
  Answer<void> send(Exchange& exchange);
  Answer<HttpAnswer> read_answer(Exchange& exchange);
  Answer<bool> read_head(Exchange& exchange, web::MessageReader& reader) const;
  Answer<bool> read_body(Exchange& exchange, web::MessageReader& reader, HttpAnswer& answer) const;
  [[nodiscard]] Trouble away(const std::string& what, int why = 0) const;
  [[nodiscard]] Trouble no_answer(const std::string& what) const;

  OtlpAddress address_;
  const web::UpstreamTls* tls_;
  Interruption& interruption_;
  web::Channel channel_;
  bool used_ = false;  // an exchange went over this connection
};

}  // namespace cordon::ship
