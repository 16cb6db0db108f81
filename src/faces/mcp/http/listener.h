// Where the HTTP transport listens: loopback or a Unix socket, never further.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "faces/mcp/server.h"

namespace cordon::mcp {

// RequestDeadlines: which connections may stay, and for how long. The HTTP library only knows how
// long one was silent, so a client that sends a byte now and then could hold its place for ever,
// and whoever can reach the address could hold all of them.
//
// A connection is a stranger until it has brought a whole head with the token. Strangers have a
// short time and few places: one more displaces the oldest of them, never a connection that is
// known. So the owner of the token gets in past any number of idle ones, as long as its head comes
// before that many newer strangers do. A known connection has its own places; when those are taken,
// the one that waits longest for its next request goes.

class RequestDeadlines {
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

struct HttpAddress {
  enum class Kind { Unix, Loopback4, Loopback6 };
  Kind kind = Kind::Unix;
  std::uint16_t port = 0;  // 0: any that is free
  std::string path;        // of a Unix socket, absolute
  bool operator==(const HttpAddress&) const = default;
};
// "127.0.0.1:8080", "[::1]:8080", "localhost:8080" or "/run/user/1000/cordon/mcp.sock".
Result<HttpAddress> parse_http_address(std::string_view text);

class HttpListener {
 public:
  // A Unix socket's directory is made, or must belong to this user alone; the socket is 0600.
  static Result<HttpListener> open(const HttpAddress& address);
  HttpListener(HttpListener&&) = default;
  HttpListener& operator=(HttpListener&&) = delete;
  ~HttpListener();  // removes the socket's name

  [[nodiscard]] const Fd& socket() const { return socket_; }
  [[nodiscard]] std::optional<std::uint16_t> port() const { return port_; }

 private:
  HttpListener() = default;

  Fd socket_;
  Fd directory_;
  std::string name_;
  std::optional<std::uint16_t> port_;
};

// A secret of at least 32 visible characters from a file that its owner alone can read.
Result<std::string> read_token_file(const std::string& path);

// The streamable HTTP transport, for both eras, on the listener's address alone.

// Serves until SIGINT, SIGTERM or SIGHUP, then cancels every call. Call it from the main thread,
// before others are started. As with serve_stdio, handlers that do not heed their cancellation are
// not waited for.
Result<int> serve_http(Server& server, HttpListener listener, std::string token);

}  // namespace cordon::mcp
