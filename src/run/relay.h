// Relay: copies one of the command's streams. It reads only when the last block is delivered, so
// memory is bounded and a slow reader slows the command.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/fd.h"
#include "cordon/streams.h"
#include "run/capture.h"

namespace cordon {

class Relay {
 public:
  enum class Direction { In, Out };

  // What the command writes: to a descriptor of the caller.
  static Relay output(Fd from, int to);
  // The same, into memory or, without one, nowhere.
  static Relay capture(Fd from, Capture* capture);
  // Between descriptors that both belong to somebody else: a terminal.
  static Relay between(Direction direction, int from, int to);
  // From a descriptor of the caller to the command's standard input.
  static Relay input(int from, int to) { return between(Direction::In, from, to); }
  // From a file that has a position, which is read and never moved.
  static Relay input_file(int from, off_t position, int to);
  // Bytes that are there already.
  static Relay input_bytes(std::string bytes, int to);

  // What is captured is told to `callback` too, as written to that stream.
  void tell(std::shared_ptr<const OutputCallback> callback, OutputFrom from) {
    callback_ = std::move(callback);
    told_as_ = from;
  }

  [[nodiscard]] Direction direction() const { return direction_; }
  // Nothing more is read; what was read may still wait to be written.
  [[nodiscard]] bool done() const { return from_ < 0; }
  [[nodiscard]] bool over() const { return done() && pending_.empty(); }
  [[nodiscard]] bool wants_read() const { return from_ >= 0 && pending_.empty(); }
  [[nodiscard]] bool wants_write() const { return !pending_.empty(); }
  [[nodiscard]] int from() const { return from_; }
  [[nodiscard]] int to() const { return to_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }          // that were read
  [[nodiscard]] std::uint64_t delivered() const { return delivered_; }  // that were written
  // Why bytes were lost on the way, as errno; 0: none were.
  [[nodiscard]] int error() const { return error_; }

  void read_some();
  void write_some();
  // Reads and writes no more. An end of a pipe that is the relay's own is closed: whoever writes
  // into the other gets SIGPIPE.
  void stop();
  // Nobody takes what is left: stops, and counts as lost what was not delivered.
  void abandon(int error);

 private:
  Relay(Direction direction, int from, int to) : direction_(direction), from_(from), to_(to) {}

  Direction direction_;
  int from_;
  int to_;
  Fd own_;
  bool has_position_ = false;
  off_t position_ = 0;
  Capture* capture_ = nullptr;
  std::shared_ptr<const OutputCallback> callback_;
  OutputFrom told_as_ = OutputFrom::Out;
  std::string pending_;
  std::uint64_t bytes_ = 0;
  std::uint64_t delivered_ = 0;
  int error_ = 0;
};

// Bytes in a pipe or terminal that nobody has read yet.
std::uint64_t unread_bytes(int descriptor);

}  // namespace cordon
