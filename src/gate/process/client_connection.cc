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

constexpr std::size_t kAtOnce = std::size_t{16} << 10U;
constexpr unsigned kMostRounds = 32;
constexpr std::chrono::minutes kIdle{5};
constexpr std::chrono::minutes kSupervisor{10};
constexpr std::chrono::seconds kMeeting{30};
constexpr std::chrono::seconds kLingering{2};
constexpr std::uint64_t kMostDiscarded = std::uint64_t{4} << 20U;

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
