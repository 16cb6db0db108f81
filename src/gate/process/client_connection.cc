#include "gate/process/client_connection.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "base/text.h"

namespace cordon::gate {
namespace {

// A queue is read into while it is shorter than this.
constexpr std::size_t kShort = std::size_t{64} << 10U;
constexpr std::size_t kAtOnce = std::size_t{16} << 10U;
constexpr unsigned kMostRounds = 32;
constexpr std::chrono::minutes kIdle{5};
constexpr std::chrono::minutes kSupervisor{10};
constexpr std::chrono::seconds kMeeting{30};
constexpr std::chrono::seconds kLingering{2};
constexpr std::uint64_t kMostDiscarded = std::uint64_t{4} << 20U;

bool may_be_repeated(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS";
}

}  // namespace

ClientConnection::ClientConnection(Common& common, std::uint64_t id, RuleInForce& rule,
                                   ClientMode mode, Fd socket, Clock::time_point now)
    : common_(common),
      id_(id),
      rule_(rule),
      mode_(mode),
      client_(std::move(socket)),
      now_(now),
      since_(now),
      client_moved_(now),
      upstream_moved_(now) {
  if (mode_ == ClientMode::Plain) return;
  Ssl ssl =
      common_.authority ? common_.authority->open(this->rule().host, client_.socket()) : nullptr;
  if (ssl) {
    client_.secure(std::move(ssl));
    phase_ = Phase::Greeting;
  } else {
    phase_ = Phase::Over;
  }
}

ClientConnection::~ClientConnection() {
  if (current_) tell_done("the gate ended the connection");
  drop(client_);
  drop(upstream_);
}

std::optional<std::uint64_t> ClientConnection::request() const {
  return current_ ? std::optional(current_->id) : std::nullopt;
}

void ClientConnection::enter(Phase phase) {
  phase_ = phase;
  since_ = client_moved_ = upstream_moved_ = now_;
}

void ClientConnection::drop(Channel& channel) {
  if (!channel.is_open()) return;
  common_.forget(channel.socket());
  channel.close();
  (&channel == &client_ ? client_known : upstream_known) = {};
  if (&channel == &client_) return;
  served_ = false;
  upstream_ended_ = false;
  from_upstream_.release();
  to_upstream_.release();
}

bool ClientConnection::pump(Clock::time_point now) {
  now_ = now;
  unsigned rounds = 0;
  while (phase_ != Phase::Over && rounds < kMostRounds && step()) ++rounds;
  if (phase_ == Phase::Over) {
    drop(client_);
    drop(upstream_);
    return false;
  }
  return rounds == kMostRounds;
}

bool ClientConnection::step() {
  switch (phase_) {
    case Phase::Greeting:
      return greet();
    case Phase::Waiting:
      return await_head();
    case Phase::Asked:
      check_idle_upstream();
      return false;
    case Phase::Dialling:
    case Phase::Over:
      return false;
    case Phase::Meeting:
      return meet();
    case Phase::Exchanging:
      return exchange();
    case Phase::Tunnel:
      return tunnel();
    case Phase::Leaving:
      return leave();
  }
  return false;
}

std::uint64_t ClientConnection::traffic_left() const {
  if (!common_.bounds.traffic) return std::numeric_limits<std::uint64_t>::max();
  return *common_.bounds.traffic - std::min(common_.traffic, *common_.bounds.traffic);
}

// True if bytes came; `state` tells why not.
bool ClientConnection::fill(Channel& from, ByteQueue& into, Channel::State& state) {
  std::array<char, kAtOnce> room;
  std::size_t most = room.size();
  if (&from == &upstream_) most = std::min<std::uint64_t>(most, traffic_left());
  if (most == 0) {
    current_->spent = true;
    state = Channel::State::Blocked;
    return false;
  }
  const Channel::Moved moved = from.read(std::span(room).first(most));
  state = moved.state;
  if (moved.state != Channel::State::Ok) return false;
  into.append({room.data(), moved.bytes});
  (&from == &client_ ? client_moved_ : upstream_moved_) = now_;
  if (&from != &upstream_) return true;
  current_->received += moved.bytes;
  common_.traffic += moved.bytes;
  return true;
}

bool ClientConnection::flush(Channel& to, ByteQueue& from, Channel::State& state) {
  if (from.empty()) return false;
  std::string_view piece = from.view();
  if (&to == &upstream_)
    piece = piece.substr(0, std::min<std::uint64_t>(piece.size(), traffic_left()));
  if (piece.empty()) {
    current_->spent = true;
    state = Channel::State::Blocked;
    return false;
  }
  const Channel::Moved moved = to.write(piece);
  state = moved.state;
  if (moved.state != Channel::State::Ok) return false;
  from.consume(moved.bytes);
  (&to == &client_ ? client_moved_ : upstream_moved_) = now_;
  if (&to != &upstream_) return true;
  current_->sent += moved.bytes;
  common_.traffic += moved.bytes;
  return true;
}

bool ClientConnection::wait_for_supervisor() {
  if (common_.is_behind) client_.stop_reading();
  return common_.is_behind;
}

bool ClientConnection::greet() {
  if (wait_for_supervisor()) return false;
  switch (client_.shake_hands()) {
    case Channel::State::Ok:
      enter(Phase::Waiting);
      return true;
    case Channel::State::Blocked:
      return false;
    case Channel::State::Ended:
    case Channel::State::Broken:
      return fail_greeting();
  }
  return false;
}

// Whoever asked for another host, or does not trust the authority of the run, is a request that was
// refused: it is told, though what would have been asked for is not known.
bool ClientConnection::fail_greeting() {
  const auto failure = RunAuthority::failure(client_.ssl(), rule().host);
  if (failure && failure->in_the_clear) {
    client_.secure(nullptr);
    refuse({400, failure->reason, "Use https://, or the address that a variable tells."}, {},
           Afterwards::Closes);
    return true;
  }
  if (failure) {
    common_.tell(
        Request{++common_.last_request, id_, rule().id, {}, {}, std::nullopt, failure->reason});
  }
  phase_ = Phase::Over;
  return false;
}

// A socket that is kept for the next request says when it ends; anything else it says was not asked
// for.
void ClientConnection::check_idle_upstream() {
  if (!upstream_.is_open()) return;
  std::array<char, 1> room;
  if (upstream_.read(room).state != Channel::State::Blocked) drop(upstream_);
}

bool ClientConnection::await_head() {
  check_idle_upstream();
  Channel::State state = Channel::State::Ok;
  if (flush(client_, to_client_, state)) return true;
  if (state == Channel::State::Broken) phase_ = Phase::Over;
  if (phase_ == Phase::Over || !to_client_.empty()) {
    client_.stop_reading();
    return false;
  }
  if (wait_for_supervisor()) return false;

  if (const auto size = head_size(from_client_.view())) {
    const std::string head(from_client_.view().substr(0, *size));
    from_client_.consume(*size);
    begin_request(head);
    return true;
  }
  const std::string_view begun = from_client_.view();
  if (!begun.empty() && (begun.front() < 'A' || begun.front() > 'Z')) {
    refuse({400, "it is not a request of HTTP/1.1", {}}, {}, Afterwards::Closes);
    return true;
  }
  if (has_bare_line_end(begun)) {
    refuse({400, "a line does not end as HTTP lines do", {}}, {}, Afterwards::Closes);
    return true;
  }
  if (begun.size() > kMostHead) {
    refuse({431, "its head is longer than " + std::to_string(kMostHead) + " bytes", {}}, {},
           Afterwards::Closes);
    return true;
  }
  const bool first = begun.empty();
  if (fill(client_, from_client_, state)) {
    if (first) since_ = now_;
    return true;
  }
  if (state != Channel::State::Blocked) phase_ = Phase::Over;
  return false;
}

void ClientConnection::begin_request(std::string_view head) {
  auto read = Exchange::read(head, rule_.compiled, mode_, common_.secrets);
  if (!read) {
    const Exchange::Refused& refused = read.error();
    return refuse(refused.refusal, refused.judged, refused.afterwards);
  }
  const Judged& judged = read->judged();
  if (is_too_often())
    return refuse({429, fmt::format("the rule allows {} requests a minute", *rule().per_minute),
                   "Wait a minute."},
                  judged, read->has_body() ? Afterwards::Closes : Afterwards::Stays);
  const std::uint64_t id = ++common_.last_request;
  common_.tell(
      Request{id, id_, rule().id, judged.method, judged.path, rule().secret, std::nullopt});
  current_.emplace(Current{id, now_, *std::move(read)});
  enter(Phase::Asked);
}

bool ClientConnection::is_too_often() {
  if (!rule().per_minute) return false;
  auto& recent = rule_.recent;
  while (!recent.empty() && now_ - recent.front() >= std::chrono::minutes(1)) recent.pop_front();
  if (recent.size() >= *rule().per_minute) return true;
  recent.push_back(now_);
  return false;
}

// A request that goes no further.
void ClientConnection::refuse(const Refusal& refusal, const Judged& judged, Afterwards afterwards) {
  common_.tell(Request{++common_.last_request, id_, rule().id, judged.method, judged.path,
                       std::nullopt, refusal.reason});
  answer(refusal, judged.method, afterwards);
}

void ClientConnection::answer(const Refusal& refusal, std::string_view method,
                              Afterwards afterwards) {
  to_client_.append(refusal_answer(refusal, rule(), method, afterwards));
  if (afterwards == Afterwards::Closes) drop(upstream_);
  enter(afterwards == Afterwards::Stays ? Phase::Waiting : Phase::Leaving);
}

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

void ClientConnection::stop(const std::string& reason) {
  if (phase_ != Phase::Asked || !current_) return;
  Exchange& exchange = current_->exchange;
  const std::string method = exchange.judged().method;
  const bool stays = !exchange.has_body() && !exchange.closes();
  exchange.set_status(403);
  tell_done("stopped: " + reason);
  current_.reset();
  answer({403, method + " is outside what is granted: " + reason, {}}, method,
         stays ? Afterwards::Stays : Afterwards::Closes);
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

// What is still to be sent, then a while for the client to read it: closing a socket with unread
// bytes would take the answer back.
bool ClientConnection::leave() {
  Channel::State state = Channel::State::Ok;
  if (flush(client_, to_client_, state)) return true;
  if (state == Channel::State::Broken) phase_ = Phase::Over;
  if (!to_client_.empty() || phase_ == Phase::Over) {
    client_.stop_reading();
    return false;
  }
  if (!finished_) {
    client_.finish();
    finished_ = true;
    since_ = now_;
  }
  from_client_.release();
  if (fill(client_, from_client_, state)) {
    discarded_ += from_client_.size();
    if (discarded_ > kMostDiscarded) phase_ = Phase::Over;
    return phase_ != Phase::Over;
  }
  if (state != Channel::State::Blocked) phase_ = Phase::Over;
  return false;
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

void ClientConnection::client_hung_up() {
  if (phase_ == Phase::Over) return;
  // Why it does not go on may lie unread before the end: shaking hands comes to both.
  if (phase_ == Phase::Greeting) return;
  if (current_) tell_done("the client went away");
  current_.reset();
  phase_ = Phase::Over;
}

void ClientConnection::check_time(Clock::time_point now) {
  now_ = now;
  const std::chrono::seconds client(common_.bounds.client_seconds);
  const std::chrono::seconds upstream(common_.bounds.upstream_seconds);
  const auto lasted = [&](auto longest) { return now - since_ > longest; };
  switch (phase_) {
    case Phase::Greeting:
      if (lasted(client) && !common_.is_behind) phase_ = Phase::Over;
      return;
    case Phase::Waiting:
      if (common_.is_behind) return;
      if (!from_client_.empty() && lasted(client)) {
        refuse({408,
                "its head did not come within " + std::to_string(client.count()) + " seconds",
                {}},
               {}, Afterwards::Closes);
      } else if (lasted(std::max<Clock::duration>(client, kIdle))) {
        phase_ = Phase::Over;
      }
      return;
    case Phase::Asked:
      if (lasted(kSupervisor)) exchange_failed({504, "nobody decided about the request"});
      return;
    case Phase::Dialling:
    case Phase::Meeting:
      if (lasted(std::min<Clock::duration>(upstream, kMeeting)))
        exchange_failed({504, "it does not answer"});
      return;
    case Phase::Exchanging: {
      const bool for_client =
          !to_client_.empty() ||
          (!is_request_whole() && !current_->upstream_deaf && to_upstream_.empty());
      if (for_client && now - client_moved_ > client) {
        if (current_->exchange.status() == 0)
          return exchange_failed({408, "the body of the request stopped coming"});
        return break_off("the client stopped reading or writing");
      }
      if (!for_client && now - upstream_moved_ > upstream)
        exchange_failed({504, "it stopped answering"});
      return;
    }
    case Phase::Tunnel:
      if (now - std::max(client_moved_, upstream_moved_) > upstream)
        break_off("nothing was said for too long");
      return;
    case Phase::Leaving:
      if (lasted(finished_ ? kLingering : client)) phase_ = Phase::Over;
      return;
    case Phase::Over:
      return;
  }
}

ClientConnection::Interest ClientConnection::client_interest() const {
  if (!client_.is_open()) return {};
  const bool waits =
      phase_ == Phase::Asked || phase_ == Phase::Dialling || phase_ == Phase::Meeting ||
      (phase_ == Phase::Exchanging && current_ && !current_->exchange.is_response_whole());
  // A client that has sent all of its request and says no more has gone: nobody waits for the
  // answer.
  const std::uint32_t gone = waits && is_request_whole() ? std::uint32_t{EPOLLRDHUP} : 0U;
  std::uint32_t wants = 0;
  switch (phase_) {
    case Phase::Greeting:
    case Phase::Waiting:
    case Phase::Exchanging:
    case Phase::Tunnel:
    case Phase::Leaving:
      wants = client_.wants();
      break;
    case Phase::Asked:
    case Phase::Dialling:
    case Phase::Meeting:
    case Phase::Over:
      break;
  }
  return {client_.socket(), wants | gone};
}

ClientConnection::Interest ClientConnection::upstream_interest() const {
  if (!upstream_.is_open()) return {};
  if (phase_ == Phase::Waiting || phase_ == Phase::Asked) return {upstream_.socket(), EPOLLIN};
  return {upstream_.socket(), upstream_.wants()};
}

}  // namespace cordon::gate
