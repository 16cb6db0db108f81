#include "egress/broker.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "egress/call_handler.h"
#include "egress/names.h"
#include "egress/own_addresses.h"
#include "egress/ssh_agent.h"
#include "egress/waiting_call.h"

namespace cordon {
namespace {

constexpr int kMostThreads = 32;
constexpr int kFirstThreads = 2;
constexpr auto kThreadsTimeout = std::chrono::seconds(1);

std::vector<HostRule> endpoints_of(const NetRules& net) {
  std::vector<HostRule> endpoints;
  for (const HttpRule& rule : net.http) endpoints.push_back(rule.host);
  return endpoints;
}

}  // namespace

// Shared by all threads: one that is held up by the C library or the kernel outlives the broker.
struct Broker::State : std::enable_shared_from_this<Broker::State> {
  State(BrokerRequest request, std::vector<ListedSocket> listed, std::unique_ptr<Meter> counts,
        std::vector<Address> own, std::uint64_t host_network, Resolver::Ipv6 ipv6, Fd stop_event,
        Fd name_event)
      : mode(request.net.mode),
        rules(
            request.live ? std::move(request.live) : std::make_shared<const LiveRules>(request.net),
            std::move(request.ceilings_now)),
        stop(std::move(stop_event)),
        budget(request.connections),
        meter(std::move(counts)),
        resolver(rules, names, attempts, ipv6),
        local(attempts, std::move(listed), host_network, stop.get()),
        files(std::move(request.writable)),
        renames(std::move(request.staged), std::move(request.tell_rename)),
        watch(std::move(request.refuses)),
        handler(
            {mode, host_network, std::move(own),
             name_event.valid() ? &name_sockets.emplace(resolver, attempts, std::move(name_event))
                                : nullptr,
             request.network == SandboxNetwork::Own,
             request.ssh_agent
                 ? &ssh_agent.emplace(*std::move(request.ssh_agent), attempts, stop.get())
                 : nullptr,
             endpoints_of(request.net), std::move(request.gate)},
            rules, names, attempts, local, files, renames, watch, budget, *meter, stop.get()) {}

  const NetMode mode;
  const RulesSource rules;
  const Fd stop;  // readable once it is over
  SyntheticNames names;
  Attempts attempts;
  ConnectionBudget budget;
  const std::unique_ptr<Meter> meter;
  Resolver resolver;
  LocalSockets local;
  const FileChanges files;
  StagedRenames renames;
  PathWatch watch;
  std::optional<NameSockets> name_sockets;  // of a sandbox on the host's network
  std::optional<SshAgentFilter> ssh_agent;
  CallHandler handler;

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

Result<Broker> Broker::make(BrokerRequest request) {
  const NetMode mode = request.net.mode;
  std::vector<Address> own;
  if (mode == NetMode::Allow) {
    CORDON_TRY(found, own_addresses());
    own = std::move(found);
  }
  CORDON_TRY(listed, open_listed(request.sockets));
  const Fd local(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto host_network = sys::network_of(local.get());
  if (!host_network) return fail(setup_error("cannot tell the host's network namespace", errno));
  Fd stop(::eventfd(0, EFD_CLOEXEC));
  if (!stop.valid()) return fail(setup_error("cannot make an event descriptor", errno));
  Fd name_event;
  if (mode == NetMode::Allow && request.network == SandboxNetwork::Hosts) {
    name_event = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!name_event.valid()) return fail(setup_error("cannot make an event descriptor", errno));
  }
  const auto ipv6 = has_public_ipv6(own) ? Resolver::Ipv6::Yes : Resolver::Ipv6::No;
  CORDON_TRY(meter, Meter::make(request.sent));
  Broker broker(std::make_shared<State>(std::move(request), std::move(listed), std::move(meter),
                                        std::move(own), *host_network, ipv6, std::move(stop),
                                        std::move(name_event)));
  if (mode != NetMode::Allow) return broker;
  CORDON_CHECK(start(broker.state_, answer_names));
  CORDON_CHECK(start(broker.state_, count_bytes));
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
  state_->changed.wait_for(lock, kThreadsTimeout, [&] { return state_->threads == 0; });
}

void Broker::serve(BrokerSockets sockets) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->local.serve(sockets.private_device, sockets.bind_in_sandbox);
    state_->handler.serve(std::move(sockets.bind_in_sandbox));
    state_->sockets = std::move(sockets);
    state_->serving = true;
    state_->changed.notify_all();
  }
  if (state_->mode == NetMode::Allow) return;
  // Without a resolver names are not found, as without one that knows them.
  if (state_->sockets.datagrams.valid()) (void)start(state_, answer_names);
  if (start(state_, answer_calls)) return;
  const std::lock_guard lock(state_->mutex);
  state_->sockets.listener.reset();
}

void Broker::answer_names(State& state) {
  if (state.name_sockets) return state.name_sockets->serve(state.stop.get());
  state.resolver.serve(state.sockets.datagrams.get(), state.sockets.streams.get(),
                       state.stop.get());
}

void Broker::count_bytes(State& state) { state.meter->serve(state.stop.get()); }

std::function<Dialled(const HostRule& endpoint)> Broker::dialler() const {
  return
      [state = state_](const HostRule& endpoint) { return state->handler.dial_for_gate(endpoint); };
}

int Broker::over_descriptor() const { return state_->meter->over_descriptor(); }

void Broker::settle() { state_->meter->settle(state_->attempts); }

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
    const int error = state.handler.answer(waiting, state.sockets.network);
    if (!waiting.answered()) (void)sys::answer_notification(listener, call.id, error);
  }
}

std::vector<Connection> Broker::connections() const { return state_->attempts.connections(); }

std::vector<RefusedPath> Broker::refused_paths() const { return state_->watch.refused(); }

std::uint64_t Broker::untold_paths() const { return state_->watch.untold(); }

std::vector<Denial> Broker::denials() const {
  const std::string rule = "net.mode = \"" + std::string(name_of(state_->mode)) + "\"";
  std::vector<Denial> found = state_->attempts.denials(rule);
  const std::vector<Denial> renames = state_->renames.denials();
  found.insert(found.end(), renames.begin(), renames.end());
  return found;
}

}  // namespace cordon
