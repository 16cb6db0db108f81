// The part of a ClientConnection in which a request that was let go is under way: a socket to the
// server, what goes to it and comes back, or the bytes of a WebSocket, until the client has all of
// it or is told why not.
#include <algorithm>
#include <array>

#include "gate/process/client_connection.h"

namespace cordon::gate {
namespace {

// A queue is read into while it is shorter than this.
constexpr std::size_t kShort = std::size_t{64} << 10U;

bool may_be_repeated(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS";
}

}  // namespace

void ClientConnection::go(Clock::time_point now) {
  now_ = now;
  if (phase_ != Phase::Asked || !current_) return;
  if (upstream_.is_open()) {
    current_->reused = served_;
    enter(Phase::Exchanging);
    return begin_exchange();
  }
  enter(Phase::Dialling);
  common_.tell(Dial{id_});
}

void ClientConnection::dialled(Fd socket, const std::optional<std::string>& error,
                               Clock::time_point now) {
  now_ = now;
  if (phase_ != Phase::Dialling || !current_) return;
  if (error || !socket.valid())
    return exchange_failed({502, error.value_or("there is no connection to it")});
  upstream_ = Channel(std::move(socket));
  Ssl ssl = common_.upstream.open(rule().host, upstream_.socket());
  if (!ssl) return exchange_failed({502, "TLS cannot be set up"});
  upstream_.secure(std::move(ssl));
  enter(Phase::Meeting);
}

bool ClientConnection::meet() {
  switch (upstream_.shake_hands()) {
    case Channel::State::Ok:
      if (!UpstreamTls::speaks_http1(upstream_.ssl())) {
        exchange_failed({502, "it does not speak HTTP/1.1"});
        return true;
      }
      enter(Phase::Exchanging);
      begin_exchange();
      return true;
    case Channel::State::Blocked:
      return false;
    case Channel::State::Ended:
    case Channel::State::Broken:
      exchange_failed({502, UpstreamTls::failure(upstream_.ssl())});
      return true;
  }
  return false;
}

void ClientConnection::begin_exchange() {
  Exchange& exchange = current_->exchange;
  const auto head = exchange.begin();
  if (!head) return exchange_failed(head.error());
  // What is known to be more than is left is not begun.
  if (exchange.announced() > traffic_left() || head->size() > traffic_left() - exchange.announced())
    return traffic_failed();
  to_upstream_.append(*head);
  served_ = true;
}

bool ClientConnection::exchange() {
  const auto still = [&] { return phase_ == Phase::Exchanging; };
  bool moved = false;
  while (still() && move_request()) moved = true;
  Channel::State state = Channel::State::Ok;
  if (still() && flush(upstream_, to_upstream_, state)) moved = true;
  if (still() && (state == Channel::State::Broken || state == Channel::State::Ended)) {
    // It may have answered before it closed: "too large" comes like that.
    current_->upstream_deaf = true;
    to_upstream_.release();
  }
  // As much as fits before it is sent on: fewer calls, and nothing waits, since a stream that
  // pauses ends this.
  while (still() && move_response()) moved = true;
  if (still() && current_->spent && !current_->exchange.is_response_whole()) {
    traffic_failed();
    return true;
  }
  state = Channel::State::Ok;
  if (still() && flush(client_, to_client_, state)) moved = true;
  if (still() && (state == Channel::State::Broken || state == Channel::State::Ended)) {
    break_off("the client went away");
    return true;
  }
  if (still() && current_->exchange.is_response_whole() && to_client_.empty()) {
    end_exchange();
    return true;
  }
  return moved;
}

// The body of the request, from the client's socket to what is to be sent.
bool ClientConnection::move_request() {
  Exchange& exchange = current_->exchange;
  if (exchange.is_request_whole() || current_->upstream_deaf || exchange.is_response_whole() ||
      to_upstream_.size() >= kShort) {
    client_.stop_reading();
    return false;
  }
  if (!from_client_.empty()) {
    auto fed = exchange.feed_request(from_client_, to_upstream_);
    if (!fed) {
      exchange_failed(std::move(fed).error());
      return true;
    }
    if (*fed) return true;
  }
  if (from_client_.size() >= kShort) return false;
  Channel::State state = Channel::State::Ok;
  if (fill(client_, from_client_, state)) return true;
  if (state == Channel::State::Blocked) return false;
  break_off("the client went away");
  return true;
}

bool ClientConnection::move_response() {
  Exchange& exchange = current_->exchange;
  if (exchange.is_response_whole() || to_client_.size() >= kShort) {
    upstream_.stop_reading();
    return false;
  }
  if (!from_upstream_.empty() && feed_response()) return true;
  if (exchange.is_response_whole()) return false;
  Channel::State state = Channel::State::Ok;
  if (fill(upstream_, from_upstream_, state)) return true;
  if (state == Channel::State::Blocked) return false;
  if (state == Channel::State::Ended && exchange.end_of_response(to_client_)) {
    upstream_ended_ = true;
    return true;
  }
  const bool nothing = from_upstream_.empty() && !exchange.is_answered();
  if (nothing && current_->reused && !current_->retried && !exchange.has_body() &&
      may_be_repeated(exchange.judged().method)) {
    // It closed while the request was on its way, which it may do with a connection that was used
    // before.
    drop(upstream_);
    current_->retried = true;
    current_->reused = false;
    enter(Phase::Dialling);
    common_.tell(Dial{id_});
    return true;
  }
  exchange_failed({502, "it closed the connection before its answer was whole"});
  return true;
}

bool ClientConnection::feed_response() {
  auto fed = current_->exchange.feed_response(from_upstream_, to_client_);
  if (!fed) {
    exchange_failed(std::move(fed).error());
    return true;
  }
  if (current_->exchange.is_websocket()) enter(Phase::Tunnel);
  return *fed;
}

// The answer is with the client, whole.
void ClientConnection::end_exchange() {
  const Exchange& exchange = current_->exchange;
  const bool upstream_stays = exchange.is_request_whole() && !current_->upstream_deaf &&
                              !upstream_ended_ && exchange.upstream_stays() &&
                              from_upstream_.empty() && to_upstream_.empty();
  const bool client_stays = exchange.is_request_whole() && !exchange.closes();
  tell_done(std::nullopt);
  current_.reset();
  if (!upstream_stays || !client_stays) drop(upstream_);
  to_client_.release();
  if (from_client_.empty()) from_client_.release();
  from_upstream_.release();
  to_upstream_.release();
  enter(client_stays ? Phase::Waiting : Phase::Leaving);
}

// Bytes both ways, as they come. What comes from the server is searched for the secret here too.
bool ClientConnection::tunnel() {
  Channel::State in = Channel::State::Ok;
  Channel::State back = Channel::State::Ok;
  Channel::State up = Channel::State::Ok;
  Channel::State down = Channel::State::Ok;
  bool moved = false;
  bool too_long = false;
  if (!from_client_.empty()) {
    to_upstream_.append(from_client_.view());
    from_client_.consume(from_client_.size());
  }
  if (to_upstream_.size() < kShort) {
    moved = fill(client_, to_upstream_, in);
  } else {
    client_.stop_reading();
  }
  moved = flush(upstream_, to_upstream_, up) || moved;
  if (to_client_.size() < kShort) {
    moved = (from_upstream_.empty() && fill(upstream_, from_upstream_, back)) || moved;
    if (!from_upstream_.empty()) {
      too_long = !current_->exchange.pass(from_upstream_.view(), to_client_);
      from_upstream_.consume(from_upstream_.size());
      moved = true;
    }
  } else {
    upstream_.stop_reading();
  }
  moved = flush(client_, to_client_, down) || moved;
  const auto is_gone = [](Channel::State state) {
    return state == Channel::State::Ended || state == Channel::State::Broken;
  };
  if (current_->spent) {
    traffic_failed();
  } else if (too_long) {
    break_off("more came back than the rule allows");
  } else if (is_gone(back) && to_client_.empty()) {
    current_->exchange.pass_rest(to_client_);
    tell_done(std::nullopt);
    current_.reset();
    drop(upstream_);
    enter(Phase::Leaving);
    return true;
  } else if (is_gone(in) || is_gone(up) || is_gone(down)) {
    tell_done(std::nullopt);
    current_.reset();
    phase_ = Phase::Over;
  }
  return moved && phase_ == Phase::Tunnel;
}

// Tells the client in words, if it was told nothing yet.
void ClientConnection::exchange_failed(Failure failure) {
  Exchange& exchange = current_->exchange;
  if (exchange.status() != 0) return break_off(failure.reason);
  const std::string method = exchange.judged().method;
  const bool stays = exchange.is_request_whole() && !exchange.closes();
  exchange.set_status(failure.status);
  const bool theirs = failure.status == 502 || failure.status == 504;
  tell_done(failure.reason);
  current_.reset();
  drop(upstream_);
  std::string reason = std::move(failure.reason);
  answer({failure.status, theirs ? rule().host + ": " + reason : std::move(reason), {}}, method,
         stays ? Afterwards::Stays : Afterwards::Closes);
}

void ClientConnection::traffic_failed() {
  exchange_failed({403, beyond_traffic_budget(*common_.bounds.traffic)});
}

// The client has a part of an answer and is to see that it is not the whole.
void ClientConnection::break_off(const std::string& reason) {
  Channel::State state = Channel::State::Ok;
  while (flush(client_, to_client_, state)) {
  }
  tell_done(reason);
  current_.reset();
  phase_ = Phase::Over;
}

void ClientConnection::tell_done(const std::optional<std::string>& ended) {
  if (current_->told) return;
  current_->told = true;
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(now_ - current_->begun).count();
  common_.tell(Done{current_->id, current_->exchange.status(), current_->sent, current_->received,
                    static_cast<std::uint64_t>(std::max<std::int64_t>(ms, 0)), ended});
}

}  // namespace cordon::gate
