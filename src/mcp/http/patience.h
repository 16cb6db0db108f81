// Patience: which connections may stay, and for how long. The HTTP library only knows how long one
// was silent, so a client that sends a byte now and then could hold its place for ever, and whoever
// can reach the address could hold all of them.
//
// A connection is a stranger until it has brought a whole head with the token. Strangers have a
// short time and few places: one more displaces the oldest of them, never a connection that is
// known. So the owner of the token gets in past any number of idle ones, as long as its head comes
// before that many newer strangers do. A known connection has its own places; when those are taken,
// the one that waits longest for its next request goes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>

namespace cordon::mcp {

class Patience {
 public:
  static constexpr std::size_t kMostStrangers = 16;
  static constexpr std::size_t kMostKnown = 64;

  void connected(int socket);  // a new connection, of a stranger
  void known(int socket);      // a head with the token: its body must come soon
  void received(int socket);   // the whole request is here
  void answered(int socket);   // it may stay for another one
  void closed(int socket);     // called before the descriptor is closed
  void end_overdue();          // ends the connections whose time is over

 private:
  using Clock = std::chrono::steady_clock;
  enum class State { Stranger, Known, Waiting };
  struct Connection {
    State state = State::Stranger;
    std::uint64_t order = 0;  // of the last change of its state
    Clock::time_point deadline;
  };
  // With the lock held.
  void set(Connection& connection, State state, Clock::duration time);
  void make_room(State state, std::size_t most);
  [[nodiscard]] std::size_t count(State state) const;

  std::mutex mutex_;
  std::uint64_t changes_ = 0;
  std::map<int, Connection> connections_;
};

}  // namespace cordon::mcp
