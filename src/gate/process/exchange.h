// Exchange: one request and its answer, as messages. What came from the client is judged, and
// written anew for the server with the secret; what comes back is checked, searched for the secret
// and written anew for the client.
//
// It has no sockets and no clock: bytes come from one queue and go into another, and whatever is
// wrong is said by a value. ClientConnection moves the queues, and decides what a failure means for
// the connection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "gate/process/byte_queue.h"
#include "gate/process/request_rules.h"
#include "gate/process/secrets.h"

namespace cordon::gate {

// Why an exchange cannot go on, and the status for a client that was told none yet.
struct Failure {
  unsigned status = 502;
  std::string reason;  // one clause
};

// What becomes of the client's connection after an answer: it stays where the next request can be
// read.
enum class Afterwards { Stays, Closes };

class Exchange {
 public:
  struct Refused {
    Refusal refusal;
    Judged judged;  // as far as it could be read
    Afterwards afterwards = Afterwards::Closes;
  };
  // The head of a request, of which no byte of the body was read yet.
  static tl::expected<Exchange, Refused> read(std::string_view head, const CompiledRule& rule,
                                              ClientMode mode, const SecretStore& secrets);

  // Before one byte of the request is written: the head that goes on, with the secret's value of
  // now.
  tl::expected<std::string, Failure> begin();
  // How many bytes the body has, where its head says so; else 0.
  [[nodiscard]] std::uint64_t announced() const { return request_.length(); }

  // A piece of the body, an answer's head or a piece of its body. True if something was taken.
  tl::expected<bool, Failure> feed_request(ByteQueue& from, ByteQueue& to);
  tl::expected<bool, Failure> feed_response(ByteQueue& from, ByteQueue& to);
  // The server sends no more. False if its answer is not whole by that.
  bool end_of_response(ByteQueue& to);

  // Of a WebSocket: what came from the server, as it came. False if that is more than the rule
  // allows.
  bool pass(std::string_view piece, ByteQueue& to);
  // What of it was held back, because it could have been the beginning of the secret.
  void pass_rest(ByteQueue& to) { to.append(mask_.finish()); }

  [[nodiscard]] const Judged& judged() const { return judged_; }
  [[nodiscard]] bool has_body() const { return request_.framing() != Framing::None; }
  [[nodiscard]] bool is_request_whole() const { return !has_body() || request_.is_whole(); }
  [[nodiscard]] bool is_response_whole() const { return response_whole_; }
  // The server has answered in some way, be it with an interim status.
  [[nodiscard]] bool is_answered() const { return status_ != 0 || interim_ != 0; }
  [[nodiscard]] bool is_websocket() const { return status_ == 101; }
  // Whether the server takes another request over the same socket.
  [[nodiscard]] bool upstream_stays() const { return response_->keeps_alive(); }
  // The client's connection ends with this exchange.
  [[nodiscard]] bool closes() const { return closes_; }
  // As the client is told it; 0: it was told none yet.
  [[nodiscard]] unsigned status() const { return status_; }
  // The client is told this by somebody else.
  void set_status(unsigned status) { status_ = status; }

 private:
  Exchange(const CompiledRule& rule, const SecretStore& secrets)
      : rule_(&rule.rule), secrets_(&secrets) {}

  std::optional<Failure> take_head(const Head& head, ByteQueue& to);
  std::optional<Failure> pass_interim(const Head& head, ByteQueue& to);
  void expect_response();
  void write_passing_fields(std::string& text, const Head& head) const;
  [[nodiscard]] Field masked(Field field) const;
  void write_body(std::string_view piece, ByteQueue& to) const;
  void end_response(ByteQueue& to);

  const Rule* rule_;
  const SecretStore* secrets_;
  Judged judged_;
  MessageReader request_{MessageReader::Of::Request};
  std::optional<MessageReader> response_;
  EchoMask mask_;
  unsigned status_ = 0;
  unsigned interim_ = 0;
  Framing framing_ = Framing::None;  // of the answer as it is sent on
  std::uint64_t request_body_ = 0;
  std::uint64_t response_body_ = 0;
  bool expects_continue_ = false;
  bool response_whole_ = false;
  bool closes_ = false;
};

// An answer of the gate's own, whole.
std::string refusal_answer(const Refusal& refusal, const Rule& rule, std::string_view method,
                           Afterwards afterwards);

}  // namespace cordon::gate
