// Widening: what gives up a part of the boundary has to be named as that. Each type here is made by
// one function, and the name of the function says what is given up. Searching a program for these
// names finds every place where it asks for less than the whole boundary.
//
//   policy.net.mode = cordon::NetMode::Open;               // does not compile
//   policy.net.mode = cordon::share_the_hosts_network();
//
// None of them goes beyond a ceiling: what the operator does not permit is refused or taken away.
// How a command's output is passed on unread is in cordon/streams.h.
#pragma once

#include <compare>
#include <cstdint>

namespace cordon {

// One of the mechanisms that stand between a command and the host.
enum class Layer { Namespaces, Landlock, Seccomp, Capabilities, Cgroup };

// What a command can reach: nothing, the hosts that are listed, or whatever the host itself can
// reach. Strictest first.
enum class NetMode { None, Allow, Open };

// That the command has the network of the host instead of one of its own.
class HostNetwork {
 private:
  constexpr HostNetwork() = default;
  friend constexpr HostNetwork share_the_hosts_network();
};
// Gives up the network boundary: the command reaches every address that the host reaches, the
// services on the host's loopback too, and nothing records where it connected to.
constexpr HostNetwork share_the_hosts_network() { return {}; }

// The network mode of a policy. NetMode::None and NetMode::Allow are taken as they are; the third
// has to be named as what it is.
class NetAccess {
 public:
  // No network.
  constexpr NetAccess() = default;
  // No network, or the hosts that are listed.
  // NOLINTNEXTLINE(google-explicit-constructor): it stands for the mode
  consteval NetAccess(NetMode mode) : mode_(mode) {
    if (mode == NetMode::Open) write_share_the_hosts_network_instead();
  }
  // Everything that the host reaches.
  // NOLINTNEXTLINE(google-explicit-constructor): the argument says it all
  constexpr NetAccess(HostNetwork /*given*/) : mode_(NetMode::Open) {}
  // The mode, to be read and compared.
  // NOLINTNEXTLINE(google-explicit-constructor): reading it gives nothing up
  constexpr operator NetMode() const { return mode_; }

 private:
  // Not constexpr and never defined: that it cannot be called is the compiler's message.
  static void write_share_the_hosts_network_instead();
  NetMode mode_ = NetMode::None;
};

// A layer that a ceiling lets a run go without.
class MissingLayer {
 public:
  // Which one.
  // NOLINTNEXTLINE(google-explicit-constructor): reading it gives nothing up
  constexpr operator Layer() const { return layer_; }

 private:
  constexpr explicit MissingLayer(Layer layer) : layer_(layer) {}
  friend constexpr MissingLayer run_without(Layer layer);
  Layer layer_;
};
// Gives up one layer, under this ceiling and on a host that does not have it. A run goes without it
// only if every ceiling that counts says so.
constexpr MissingLayer run_without(Layer layer) { return MissingLayer(layer); }

// That the command is handed the login of an agent.
class SharedLogin {
 public:
  // There is one kind.
  constexpr bool operator==(const SharedLogin&) const = default;

 private:
  constexpr SharedLogin() = default;
  friend constexpr SharedLogin hand_over_the_agents_login();
};
// Gives up one credential: the agent's login file of the host is copied into the private home that
// is kept, where the command can read it and send it to the hosts that it may reach.
constexpr SharedLogin hand_over_the_agents_login() { return {}; }

// That the command can have the person's ssh agent sign for it.
class LentSshKeys {
 public:
  // There is one kind.
  constexpr bool operator==(const LentSshKeys&) const = default;

 private:
  constexpr LentSshKeys() = default;
  friend constexpr LentSshKeys sign_with_the_persons_ssh_keys();
};
// Gives up the use of every key that the agent holds, as long as the run lasts: the command can log
// in as the person wherever these keys do and the policy lets it connect to. It sees no key, and
// can ask the agent for nothing but a list and signatures.
constexpr LentSshKeys sign_with_the_persons_ssh_keys() { return {}; }

}  // namespace cordon
