// Dialling: connects from the supervisor to addresses that were judged.
#pragma once

#include <poll.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/fd.h"
#include "egress/endpoint.h"

namespace cordon {

// The options that a program set on its socket before it was replaced by a connected one.

// Copies what shapes a TCP connection and its waiting. Not what ties a socket to an address, an
// interface or a mark: those mean something else in the other network.
void copy_options(int from, int to);

// How long the program itself would wait for a connection; nothing: as long as it takes.
std::optional<std::chrono::milliseconds> connect_timeout(int socket);
// The same for a message.
std::optional<std::chrono::milliseconds> receive_timeout(int socket);

// Tunnel: carries the bytes of one TCP connection to another, both ways. What one side has not
// taken stays unread on the other, in a buffer of fixed size each way: a slow reader slows the
// writer. The end of one direction is passed on as such; the other goes on.

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

struct Dialled {
  Fd socket;        // connected and non-blocking; invalid if no target answered
  int error = 0;    // errno of the last try
  Endpoint target;  // the one that was tried last
};

// Tries the targets in turn, each with a socket of `domain` that has the options of `like`, until
// one answers, the time is over or `stop` becomes readable. There is at least one target.
Dialled dial(std::span<const Endpoint> targets, int domain, int like,
             std::chrono::milliseconds time, int stop);

// Waits until a connection that was begun is made or has failed: 0, or the errno of the waiting.
int wait_until_decided(int socket, std::chrono::milliseconds time, int stop);

}  // namespace cordon
