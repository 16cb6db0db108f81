#include "egress/meter.h"

#include <sys/eventfd.h>

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace cordon {
namespace {

constexpr int kLookMilliseconds = 25;
// The kernel tells the end of a socket a moment after it.
constexpr int kSettleMilliseconds = 10;
constexpr int kSettleRounds = 20;

}  // namespace

Result<std::unique_ptr<Meter>> Meter::make(std::optional<std::uint64_t> most) {
  const int watch = sys::watch_socket_ends();
  const int questions = sys::open_socket_questions();
  Fd over(::eventfd(0, EFD_CLOEXEC));
  if (!over.valid()) return fail(setup_error("cannot make an event descriptor", errno));
  if (most && (watch < 0 || questions < 0)) {
    return fail({.kind = ErrorKind::Unsupported,
                 .what = "limits.sent cannot be held: the kernel does not tell what sockets carry",
                 .hint = "load the module tcp_diag, or remove the limit",
                 .error_number = watch < 0 ? -watch : -questions});
  }
  return std::unique_ptr<Meter>(new Meter(Fd(watch), Fd(questions), std::move(over), most));
}

void Meter::add(int connected, std::optional<std::size_t> entry) {
  const auto name = sys::name_of_socket(connected);
  const std::lock_guard lock(mutex_);
  if (!watch_.valid() || !questions_.valid()) return;
  if (name) {
    living_[name->cookie] = {*name, entry, {}};
  } else {
    lost_ = true;
    check();
  }
}

void Meter::serve(int stop) {
  for (;;) {
    pollfd polled[] = {{watch_.get(), POLLIN, 0}, {stop, POLLIN, 0}};
    if (::poll(polled, 2, most_ ? kLookMilliseconds : -1) < 0 && errno != EINTR) return;
    if (polled[1].revents != 0) return;
    const std::lock_guard lock(mutex_);
    take_ends();
    if (most_) look_at_living();
    check();
  }
}

void Meter::take_ends() {
  sys::SocketEnd end;
  for (;;) {
    const int error = sys::next_socket_end(watch_.get(), end);
    if (error == -ENOBUFS) {
      lost_ = true;
      continue;
    }
    if (error != 0) return;
    const auto found = living_.find(end.cookie);
    if (found == living_.end()) continue;
    found->second.bytes = end.bytes;
    finish(found->second);
    living_.erase(found);
  }
}

void Meter::finish(const Counted& counted) {
  sent_by_ended_ += counted.bytes.sent;
  if (!counted.entry) return;
  sys::SocketBytes& sum = ended_[*counted.entry];
  sum.sent += counted.bytes.sent;
  sum.received += counted.bytes.received;
}

void Meter::look_at_living() {
  for (auto& [cookie, counted] : living_) {
    sys::SocketBytes bytes;
    if (sys::ask_socket_bytes(questions_.get(), counted.name, bytes) == 0) counted.bytes = bytes;
  }
}

void Meter::check() {
  if (!most_) return;
  std::uint64_t sent = sent_by_ended_;
  for (const auto& [cookie, counted] : living_) sent += counted.bytes.sent;
  if (sent <= *most_ && !lost_) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t told = ::write(over_.get(), &one, sizeof one);
}

// True if nothing more is to come: what is left still sends, or was not told of and never will be.
bool Meter::settled() {
  bool awaited = false;
  for (auto& [cookie, counted] : living_) {
    sys::SocketBytes bytes;
    if (sys::ask_socket_bytes(questions_.get(), counted.name, bytes) == 0) {
      counted.bytes = bytes;
    } else {
      awaited = true;
    }
  }
  return !awaited;
}

void Meter::settle(Attempts& attempts) {
  const std::lock_guard lock(mutex_);
  if (!watch_.valid() || !questions_.valid()) return;
  bool all = false;
  for (int round = 0; round < kSettleRounds; ++round) {
    take_ends();
    all = settled();
    if (all) break;
    pollfd polled{watch_.get(), POLLIN, 0};
    (void)::poll(&polled, 1, kSettleMilliseconds);
  }
  for (const auto& [cookie, counted] : living_) {
    sys::SocketBytes bytes;
    const bool known = all || sys::ask_socket_bytes(questions_.get(), counted.name, bytes) == 0;
    if (known) {
      finish(counted);
    } else if (counted.entry) {
      attempts.lose_bytes(*counted.entry);
    }
  }
  living_.clear();
  for (const auto& [entry, bytes] : ended_) attempts.add_bytes(entry, bytes.sent, bytes.received);
  ended_.clear();
}

namespace {

constexpr std::size_t kMostListed = 1000;

bool same(const Connection& a, const Connection& b) {
  return a.host == b.host && a.address == b.address && a.port == b.port && a.allowed == b.allowed &&
         a.rule == b.rule && a.reason == b.reason;
}

std::string place_of(const Connection& attempt) {
  std::string text = attempt.host.empty() ? attempt.address : attempt.host;
  if (text.find(':') != std::string::npos) text = "[" + text + "]";
  return text.append(":").append(std::to_string(attempt.port));
}

std::string describe(const Connection& attempt) {
  std::string text = place_of(attempt);
  if (!attempt.host.empty() && !attempt.address.empty()) {
    text.append(" at ").append(attempt.address);
  }
  return text.append(": ").append(attempt.reason);
}

}  // namespace

std::string error_name(int error) {
  const char* name = ::strerrorname_np(error);
  return name == nullptr ? std::to_string(error) : name;
}

std::optional<std::size_t> Attempts::add(Connection attempt) {
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find_if(
      connections_, [&](const Connection& other) { return same(other, attempt); });
  if (known != connections_.end()) {
    ++known->count;
    return static_cast<std::size_t>(known - connections_.begin());
  }
  if (connections_.size() == kMostListed) {
    ++unlisted_;
    return std::nullopt;
  }
  connections_.push_back(std::move(attempt));
  return connections_.size() - 1;
}

void Attempts::add_bytes(std::size_t entry, std::uint64_t sent, std::uint64_t received) {
  const std::lock_guard lock(mutex_);
  if (bytes_lost_.contains(entry)) return;
  Connection& connection = connections_[entry];
  connection.sent = connection.sent.value_or(0) + sent;
  connection.received = connection.received.value_or(0) + received;
}

void Attempts::lose_bytes(std::size_t entry) {
  const std::lock_guard lock(mutex_);
  bytes_lost_.insert(entry);
  connections_[entry].sent.reset();
  connections_[entry].received.reset();
}

void Attempts::add_unknown_name(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (const auto known = unknown_.find(name); known != unknown_.end()) {
    ++known->second;
  } else if (unknown_.size() < kMostListed) {
    unknown_.emplace(name, 1);
  } else {
    ++unlisted_;
  }
}

void Attempts::add_refusal(const std::string& what, const std::string& detail) {
  const std::lock_guard lock(mutex_);
  const auto key = std::pair(what, detail);
  if (const auto known = refused_.find(key); known != refused_.end()) {
    ++known->second;
  } else if (refused_.size() < kMostListed) {
    refused_.emplace(key, 1);
  } else {
    ++unlisted_;
  }
}

std::vector<Connection> Attempts::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

std::vector<Denial> Attempts::denials(std::string_view mode_rule) const {
  const std::lock_guard lock(mutex_);
  std::vector<Denial> denials;
  for (const Connection& attempt : connections_) {
    if (attempt.allowed) continue;
    const bool datagram = attempt.reason == kOnlyTcp;
    denials.push_back({datagram ? "udp" : "connect",
                       describe(attempt) + (datagram ? ", and no rule grants UDP" : ""), "broker",
                       attempt.count, place_of(attempt), "connect", attempt.rule});
  }
  // The policy refused nothing: told all the same, since inside it reads as if there were no way.
  std::map<std::string, std::uint64_t> unresolved;
  for (const Connection& attempt : connections_) {
    const bool resolved = !attempt.address.empty() || attempt.host.empty();
    if (attempt.allowed && !resolved && attempt.error == error_name(EHOSTUNREACH))
      unresolved[attempt.host] += attempt.count;
  }
  for (const auto& [name, count] : unresolved) {
    denials.push_back(
        {"resolver", name + " is allowed, but this host cannot resolve it", "host", count});
  }
  for (const auto& [name, count] : unknown_) {
    // A name is asked for before a port is: what programs speak to by name is mostly this one.
    denials.push_back({"resolve", name + ": no rule allows this name", "broker", count,
                       name + ":443", "connect", std::string(mode_rule)});
  }
  for (const auto& [refusal, count] : refused_) {
    denials.push_back({refusal.first, refusal.second, "broker", count});
  }
  if (unlisted_ > 0) denials.push_back({"connect", "attempts not listed", "broker", unlisted_});
  return denials;
}

}  // namespace cordon
