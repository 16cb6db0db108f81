// Channel: a connected socket that never waits, with TLS on it or without.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/fd.h"
#include "web/tls_client.h"

namespace cordon::web {

class Channel {
 public:
  enum class State {
    Ok,       // something was moved
    Blocked,  // not now: wants() says what to wait for
    Ended,    // the peer has said that nothing more comes
    Broken,   // nothing more can be moved, and nothing was said
  };
  struct Moved {
    State state = State::Blocked;
    std::size_t bytes = 0;
  };

  Channel() = default;
  explicit Channel(Fd socket);  // makes it non-blocking
  void secure(Ssl ssl) { ssl_ = std::move(ssl); }

  [[nodiscard]] bool is_open() const { return socket_.valid(); }
  [[nodiscard]] int socket() const { return socket_.get(); }
  [[nodiscard]] const SSL* ssl() const { return ssl_.get(); }

  State shake_hands();
  Moved read(std::span<char> room);
  Moved write(std::string_view bytes);
  // Tells the peer that nothing more comes; reading goes on.
  void finish();
  void close();

  // The events of epoll that the last blocked reading, writing and shaking of hands wait for.
  [[nodiscard]] std::uint32_t wants() const { return read_wants_ | write_wants_; }
  // What is to be read is no longer of interest.
  void stop_reading() { read_wants_ = 0; }

 private:
  Moved outcome(int result, std::size_t bytes, std::uint32_t& wants) const;

  Fd socket_;
  Ssl ssl_;
  std::uint32_t read_wants_ = 0;
  std::uint32_t write_wants_ = 0;
};

}  // namespace cordon::web
