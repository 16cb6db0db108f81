// The supervisor's end of the gate.
//
//   listen   one thread takes the gate's messages: it records requests and lets them go on, one
//            after the other, so that a record is durable before its request is sent
//   dial     a few threads connect: one that waits for a far host keeps no request from its record
//
// A secret whose file has changed is read again before the next request that it belongs to: the
// value is sent ahead of the word that lets the request go, on the same socket. A command is asked
// again when the host refused what it had answered before.
#include "run/gate.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "base/text.h"
#include "egress/waiting_call.h"
#include "host/own_programs.h"
#include "policy/http_rules.h"
#include "policy/net_rules.h"
#include "run/gate_program.h"
#include "run/request_account.h"
#include "run/secret_program.h"
#include "run/secret_source.h"
#include "sys/sockets.h"

namespace cordon {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::seconds kUntilReady{20};
constexpr std::chrono::seconds kUntilGone{1};
constexpr std::chrono::seconds kUntilHeard{10};
constexpr std::chrono::seconds kBetweenCommands{30};
constexpr std::size_t kDialThreads = 8;
constexpr unsigned kUnauthorized = 401;
constexpr std::string_view kEndedFirst = "the run or its gate ended first";

std::vector<SecretRule> found_programs(std::vector<SecretRule> sources, const Caller& caller) {
  for (SecretRule& source : sources) source = with_program_found(std::move(source), caller);
  return sources;
}

Error gate_error(std::string what) {
  return setup_error("cordon-gate: " + std::move(what), 0,
                     "without it no host with rules for requests can be reached");
}

}  // namespace

struct Gate::State : RequestGate {
  State(const Effective& effective, const Caller& who)
      : rules(effective.net.http),
        reader{who, variables_outside(who, effective.write)},
        sources(found_programs(effective.secrets, who)),
        account(effective.limits, effective.secrets) {}
  ~State() override {
    if (process > 0) reap();
  }

  const std::vector<HttpRule> rules;
  const SecretReader reader;
  const std::vector<SecretRule> sources;
  pid_t process = -1;
  Fd control;
  std::string certificate;

  std::mutex mutex;  // of all below
  std::condition_variable wanted;
  Work work;
  bool over = false;
  std::uint64_t connections = 0;
  struct Going {
    std::size_t begun = 0;
    GateRequest request;
  };
  std::map<std::uint64_t, Going> going;  // by request
  std::condition_variable settled;
  bool listening = false;
  std::deque<std::uint64_t> to_dial;  // connections
  RequestAccount account;
  std::map<std::string, std::optional<std::string>> stamps;  // of secrets, by name
  std::map<std::string, Steady::time_point> asked;           // commands, by name
  std::string packet = std::string(gate::kMostPacket, '\0');
  std::thread listener;

  // The number of a connection tells its rule, so that nothing has to be kept of one.
  [[nodiscard]] const HostRule& endpoint_of(std::uint64_t connection) const {
    return rules[connection % kMostHttpRules % rules.size()].host;
  }
  bool take(const HostRule& endpoint, Way way, Fd client) override;

  bool tell(const gate::ToGate& message) {
    const std::string text = gate::encode(message);
    return ::send(control.get(), text.data(), text.size(), MSG_NOSIGNAL) >= 0;
  }
  bool tell(const gate::ToGate& message, std::initializer_list<int> passed) {
    const std::string text = gate::encode(message);
    return sys::send_passing(control.get(), text.data(), text.size(),
                             {passed.begin(), passed.size()}) >= 0;
  }

  Result<void> configure(const gate::Configuration& plain);
  Result<gate::FromGate> next();
  void listen();
  void dial();
  void take_request(const gate::Request& message);
  void take_done(const gate::Done& message);
  void renew(const std::string& secret);
  void refuse(const GateRequest& request, const std::string& reason);
  void reap();
};

bool Gate::State::take(const HostRule& endpoint, Way way, Fd client) {
  const auto rule = std::ranges::find(rules, endpoint, &HttpRule::host);
  if (rule == rules.end()) return false;
  std::uint64_t id = static_cast<std::uint64_t>(rule - rules.begin());
  {
    const std::lock_guard lock(mutex);
    if (over) return false;
    id += ++connections * kMostHttpRules;
  }
  const gate::ClientMode mode =
      way == Way::Loopback ? gate::ClientMode::Plain : gate::ClientMode::Tls;
  return tell(gate::Connection{id, to_string(endpoint), mode}, {client.get()});
}

Result<gate::FromGate> Gate::State::next() {
  for (;;) {
    const ssize_t got = ::recv(control.get(), packet.data(), packet.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail(gate_error("it has ended"));
    return gate::decode_from_gate(
        std::string_view(packet).substr(0, static_cast<std::size_t>(got)));
  }
}

Result<void> Gate::State::configure(const gate::Configuration& plain) {
  CORDON_TRY(trust, open_trust_store(reader.caller));
  for (const SecretRule& source : sources) stamps[source.name] = stamp_of(source, reader.caller);
  CORDON_TRY(memory, sealed_configuration(plain, sources, reader));
  if (!tell(gate::Configure{}, {memory.get(), trust.file.get()})) {
    return fail(gate_error("it ended before it was told what to do"));
  }
  pollfd polled{control.get(), POLLIN, 0};
  const auto time = std::chrono::milliseconds(kUntilReady).count();
  if (::poll(&polled, 1, static_cast<int>(time)) <= 0)
    return fail(gate_error("it does not answer"));
  CORDON_TRY(answer, next());
  if (const auto* failed = std::get_if<gate::Failed>(&answer)) {
    return fail(gate_error(failed->reason));
  }
  const auto* ready = std::get_if<gate::Ready>(&answer);
  if (ready == nullptr) return fail(gate_error("it says something else than that it is ready"));
  if (!ready->certificate) return fail(gate_error("it made no authority"));
  certificate = *ready->certificate;
  return {};
}

void Gate::State::refuse(const GateRequest& request, const std::string& reason) {
  const std::lock_guard lock(mutex);
  account.refused(request, reason);
}

// Called before the word that lets a request go, and after a host has refused a secret. What cannot
// be read now stays what it was: the host says what it thinks of that.
void Gate::State::renew(const std::string& secret) {
  const auto source = std::ranges::find(sources, secret, &SecretRule::name);
  if (source == sources.end()) return;
  const auto stamp = stamp_of(*source, reader.caller);
  if (!stamp || stamp == stamps[secret]) return;
  if (send_value(control.get(), *source, reader)) stamps[secret] = stamp;
}

void Gate::State::take_request(const gate::Request& message) {
  GateRequest request;
  Work now;
  {
    const std::lock_guard lock(mutex);
    now = work;
  }
  request.host = to_string(endpoint_of(message.connection));
  request.rule = "[[http]] " + message.rule;
  request.method = message.method;
  request.path = message.path;
  request.secret = message.secret.value_or(std::string());
  if (message.refused) {
    now.refuse(request, *message.refused);
    return refuse(request, *message.refused);
  }
  // With the record of the request that it belongs to.
  const auto spent = [&] {
    const std::lock_guard lock(mutex);
    return account.take(request.secret);
  }();
  if (spent) {
    request.rule = spent->rule;
    now.refuse(request, spent->reason);
    refuse(request, spent->reason);
    (void)tell(gate::Stop{message.id, spent->reason});
    return;
  }
  const auto begun = now.begin(request);
  if (!begun) {
    refuse(request, begun.error().what);
    (void)tell(gate::Stop{message.id, begun.error().what});
    return;
  }
  if (!request.secret.empty()) renew(request.secret);
  {
    const std::lock_guard lock(mutex);
    going[message.id] = {*begun, std::move(request)};
  }
  (void)tell(gate::Go{message.id});
}

void Gate::State::take_done(const gate::Done& message) {
  Going done;
  Work now;
  {
    const std::lock_guard lock(mutex);
    const auto found = going.find(message.id);
    if (found == going.end()) return;  // it was stopped
    done = std::move(found->second);
    going.erase(found);
    if (going.empty()) settled.notify_all();
    now = work;
    account.done(done.request, message);
  }
  now.end(done.begun, message);
  if (message.status != kUnauthorized || done.request.secret.empty()) return;
  const auto source = std::ranges::find(sources, done.request.secret, &SecretRule::name);
  if (source == sources.end() || !is_command(*source)) return;
  const auto moment = Steady::now();
  auto& last = asked[source->name];
  if (last != Steady::time_point() && moment - last < kBetweenCommands) return;
  last = moment;
  (void)send_value(control.get(), *source, reader);
}

void Gate::State::listen() {
  for (;;) {
    const auto message = next();
    if (!message) break;
    if (const auto* request = std::get_if<gate::Request>(&*message)) {
      take_request(*request);
    } else if (const auto* done = std::get_if<gate::Done>(&*message)) {
      take_done(*done);
    } else if (const auto* dialled = std::get_if<gate::Dial>(&*message)) {
      const std::lock_guard lock(mutex);
      to_dial.push_back(dialled->id);
      wanted.notify_one();
    } else {
      break;  // it is not what it should be
    }
  }
  // Whoever waits sees the end of its connection; nothing is connected in another way.
  (void)::shutdown(control.get(), SHUT_RDWR);
  std::map<std::uint64_t, Going> left;
  Work now;
  {
    const std::lock_guard lock(mutex);
    over = true;
    wanted.notify_all();
    listening = false;
    settled.notify_all();
    left.swap(going);
    now = work;
    for (const auto& [id, one] : left) account.cut_off(one.request, std::string(kEndedFirst));
  }
  for (const auto& [id, one] : left) {
    gate::Done cut;
    cut.id = id;
    cut.ended = kEndedFirst;
    now.end(one.begun, cut);
  }
}

void Gate::State::dial() {
  for (;;) {
    std::uint64_t id = 0;
    HostRule endpoint;
    std::function<Dialled(const HostRule&)> connect;
    {
      std::unique_lock lock(mutex);
      wanted.wait(lock, [&] { return over || !to_dial.empty(); });
      if (over) return;
      id = to_dial.front();
      to_dial.pop_front();
      endpoint = endpoint_of(id);
      connect = work.dial;
    }
    const Dialled dialled = connect(endpoint);
    if (dialled.error == 0) {
      (void)tell(gate::Dialled{id, std::nullopt}, {dialled.socket.get()});
    } else {
      const std::string why =
          dialled.error == EACCES
              ? "the policy refuses what its name leads to; cordon why tells a person the rule"
              : ::strerrordesc_np(dialled.error);
      (void)tell(gate::Dialled{id, to_string(endpoint) + " cannot be reached: " + why});
    }
  }
}

void Gate::State::reap() {
  const auto until = Steady::now() + kUntilGone;
  (void)::shutdown(control.get(), SHUT_RDWR);
  for (;;) {
    const pid_t found = ::waitpid(process, nullptr, WNOHANG);
    if (found == process || (found < 0 && errno == ECHILD)) break;
    if (Steady::now() > until) {
      ::kill(process, SIGKILL);
      while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) continue;
      break;
    }
    (void)::poll(nullptr, 0, 1);
  }
  process = -1;
}

Gate::Gate(std::shared_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Gate>> Gate::start(const Effective& effective, const Caller& caller) {
  CORDON_TRY(program, own_program(caller, "cordon-gate"));
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
    return fail(setup_error("cannot make a socket for the gate", errno));
  }
  auto state = std::make_shared<State>(effective, caller);
  state->control = Fd(ends[0]);
  const Fd theirs(ends[1]);
  CORDON_TRY(process, start_gate_program(program, theirs.get()));
  state->process = process;
  std::unique_ptr<Gate> made(new Gate(state));
  CORDON_CHECK(state->configure(gate_configuration(effective)));
  return made;
}

Result<std::string> Gate::trust_store(const Caller& caller) {
  CORDON_TRY(store, open_trust_store(caller));
  return std::move(store.path);
}

Gate::~Gate() { (void)end(); }

std::shared_ptr<RequestGate> Gate::way_in() const { return state_; }

const std::string& Gate::certificate() const { return state_->certificate; }

void Gate::serve(Work work) {
  const std::lock_guard lock(state_->mutex);
  state_->work = std::move(work);
  state_->listening = true;
  const WithoutSignals without;
  state_->listener = std::thread([state = state_.get()] { state->listen(); });
  // One that waits for a far host outlives the gate.
  for (std::size_t i = 0; i < kDialThreads; ++i) {
    std::thread([state = state_] { state->dial(); }).detach();
  }
}

Gate::Account Gate::end() {
  {
    std::unique_lock lock(state_->mutex);
    // Whoever asked is gone: the gate is about to tell what became of it.
    state_->settled.wait_for(lock, kUntilGone,
                             [&] { return state_->going.empty() || state_->over; });
    state_->over = true;
    state_->wanted.notify_all();
    // It ends once it has said what it still has to say: a request that was refused counts, however
    // many there were.
    (void)::shutdown(state_->control.get(), SHUT_WR);
    state_->settled.wait_for(lock, kUntilHeard, [&] { return !state_->listening; });
  }
  if (state_->process > 0) state_->reap();
  if (state_->listener.joinable()) state_->listener.join();
  const std::lock_guard lock(state_->mutex);
  state_->work = {};
  return state_->account.settle();
}

}  // namespace cordon
