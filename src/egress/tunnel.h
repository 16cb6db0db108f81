// Tunnel: carries the bytes of one TCP connection to another, both ways. What one side has not
// taken stays unread on the other, in a buffer of fixed size each way: a slow reader slows the
// writer. The end of one direction is passed on as such; the other goes on.
#pragma once

#include <poll.h>

#include <array>
#include <cstdint>
#include <memory>

#include "base/fd.h"

namespace cordon {

class Tunnel {
 public:
  // Both are connected and non-blocking.
  Tunnel(Fd outside, Fd inside);

  // What to wait for: the outer socket, then the inner one. A socket with nothing to wait for is
  // left out (-1), or its end would wake the caller for ever.
  [[nodiscard]] std::array<pollfd, 2> wanted() const;
  // After either is ready. False once both directions have ended or one side broke: then both
  // sockets are closed, and a side that broke is passed on as a reset.
  bool carry();

  [[nodiscard]] std::uint64_t bytes_in() const { return inward_.carried; }
  [[nodiscard]] std::uint64_t bytes_out() const { return outward_.carried; }

 private:
  static constexpr std::size_t kBuffer = std::size_t{64} * 1024;
  struct Flow {
    std::unique_ptr<std::array<char, kBuffer>> bytes;
    std::size_t begin = 0;
    std::size_t end = 0;
    bool source_ended = false;
    bool told = false;  // the other side knows of the end
    std::uint64_t carried = 0;
    [[nodiscard]] bool holds() const { return begin < end; }
    [[nodiscard]] bool over() const { return told; }
  };
  enum class Step { Waits, Broke };
  static Step move(int from, int to, Flow& flow);
  void break_off();

  Fd outside_;
  Fd inside_;
  Flow inward_;
  Flow outward_;
};

// The other end sees a reset, not an end.
void close_with_reset(Fd socket);

}  // namespace cordon
