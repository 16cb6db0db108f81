#include "egress/broker.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <system_error>
#include <thread>

#include "egress/own_addresses.h"
#include "egress/resolver.h"
#include "egress/switchboard.h"

namespace cordon {
namespace {

constexpr int kMostThreads = 32;
constexpr int kFirstThreads = 2;
constexpr auto kPatience = std::chrono::seconds(1);

// Signals are the supervisor's: a thread made meanwhile takes none of them.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

// Shared by all threads: one that is held up by the C library or the kernel outlives the broker.
struct Broker::State : std::enable_shared_from_this<Broker::State> {
  State(std::shared_ptr<const LiveRules> live, std::vector<Address> own, Resolver::Ipv6 ipv6,
        Fd stop_event)
      : rules(std::move(live)),
        stop(std::move(stop_event)),
        resolver(*rules, names, attempts, ipv6),
        switchboard(*rules, names, attempts, std::move(own), stop.get()) {}

  const std::shared_ptr<const LiveRules> rules;
  const Fd stop;  // readable once it is over
  SyntheticNames names;
  Attempts attempts;
  Resolver resolver;
  Switchboard switchboard;

  std::mutex mutex;  // of all below
  std::condition_variable changed;
  bool serving = false;
  bool stopping = false;
  int threads = 0;  // of all kinds
  int free = 0;     // threads that wait for a call, or for their turn to
  BrokerSockets sockets;

  std::mutex turn;  // one thread at a time waits for a call

  // False if it is over before it began.
  bool wait_for_sockets() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return serving || stopping; });
    return serving && !stopping;
  }
};

Result<void> Broker::start(const std::shared_ptr<State>& state, void (*body)(State&)) {
  {
    const std::lock_guard lock(state->mutex);
    ++state->threads;
  }
  const WithoutSignals without;
  const auto run = [state, body] {
    if (state->wait_for_sockets()) body(*state);
    const std::lock_guard lock(state->mutex);
    --state->threads;
    state->changed.notify_all();
  };
  try {
    std::thread(run).detach();
  } catch (const std::system_error& error) {
    const std::lock_guard lock(state->mutex);
    --state->threads;
    return fail(
        setup_error("cannot start a thread of the connection broker", error.code().value()));
  }
  return {};
}

Result<Broker> Broker::make(std::shared_ptr<const LiveRules> rules) {
  CORDON_TRY(own, own_addresses());
  Fd stop(::eventfd(0, EFD_CLOEXEC));
  if (!stop.valid()) return fail(setup_error("cannot make an event descriptor", errno));
  const auto ipv6 = has_public_ipv6(own) ? Resolver::Ipv6::Yes : Resolver::Ipv6::No;
  Broker broker(std::make_shared<State>(std::move(rules), std::move(own), ipv6, std::move(stop)));
  CORDON_CHECK(start(broker.state_, answer_names));
  for (int i = 0; i < kFirstThreads; ++i) CORDON_CHECK(start(broker.state_, answer_calls));
  return broker;
}

Broker::Broker(std::shared_ptr<State> state) : state_(std::move(state)) {}

Broker::~Broker() {
  if (!state_) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t told = ::write(state_->stop.get(), &one, sizeof one);
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, kPatience, [&] { return state_->threads == 0; });
}

void Broker::serve(BrokerSockets sockets) {
  const std::lock_guard lock(state_->mutex);
  state_->sockets = std::move(sockets);
  state_->serving = true;
  state_->changed.notify_all();
}

void Broker::answer_names(State& state) {
  state.resolver.serve(state.sockets.datagrams.get(), state.sockets.streams.get(),
                       state.stop.get());
}

namespace {

// False when there is nothing more to wait for.
bool next_call(int listener, int stop, sys::Notification& call) {
  for (;;) {
    pollfd polled[] = {{stop, POLLIN, 0}, {listener, POLLIN, 0}};
    if (::poll(polled, 2, -1) < 0 && errno != EINTR) return false;
    if (polled[0].revents != 0) return false;
    if ((polled[1].revents & POLLIN) == 0) {
      if (polled[1].revents != 0) return false;  // the last process of the filter is gone
      continue;
    }
    if (sys::receive_notification(listener, call) == 0) return true;
  }
}

}  // namespace

void Broker::answer_calls(State& state) {
  const int listener = state.sockets.listener.get();
  for (;;) {
    sys::Notification call;
    {
      const std::unique_lock lock(state.mutex);
      ++state.free;
    }
    bool received = false;
    {
      const std::lock_guard turn(state.turn);
      received = next_call(listener, state.stop.get(), call);
    }
    bool another = false;
    {
      const std::unique_lock lock(state.mutex);
      --state.free;
      another = received && state.free == 0 && state.threads < kMostThreads && !state.stopping;
    }
    if (!received) return;
    // Without one more, other calls wait until this one is answered.
    if (another) (void)start(state.shared_from_this(), answer_calls);
    WaitingCall waiting(listener, call);
    const int error = state.switchboard.answer(waiting, state.sockets.network);
    (void)sys::answer_notification(listener, call.id, error);
  }
}

std::vector<Connection> Broker::connections() const { return state_->attempts.connections(); }

std::vector<Denial> Broker::denials() const { return state_->attempts.denials(); }

}  // namespace cordon
