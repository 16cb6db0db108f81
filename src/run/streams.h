// How the command's three streams are connected to the outside. Only an anonymous pipe is ever
// handed over as it is: through an inherited regular file the command could truncate, seek or chmod
// it, through a terminal it could read keys, through a socket it could be sent descriptors.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/fd.h"
#include "cordon/result.h"
#include "cordon/runner.h"
#include "run/capture.h"

namespace cordon {

// Sees what a command writes while it runs, on the thread that supervises it.
class OutputListener {
 public:
  enum class From { Out, Err };
  virtual ~OutputListener() = default;
  virtual void output(From from, std::string_view bytes) = 0;
};

struct StreamRequest {
  Stdin in = Stdin::Null;
  Stdout out = Stdout::Capture;
  std::optional<std::string> input;
  // The reading end of an anonymous pipe, instead of `in` and `input`. The run takes it over: what
  // is held here would keep the writer from seeing that nobody reads any more.
  std::shared_ptr<Fd> input_pipe;
  OutputListener* listener = nullptr;  // of captured streams
  bool terminal = false;               // a pty between the caller's terminal and the command
  std::uint64_t keep = std::uint64_t{10} * 1024;  // bytes kept per captured stream
  std::optional<std::uint64_t> total;             // bytes after which the command is to be killed
};

// One direction of copying. Reads only when the last block is delivered, so memory is bounded and a
// slow reader slows the command.
class Relay {
 public:
  // From a descriptor to a descriptor or, if `to` is negative, into `capture`.
  Relay(int from, int to, Capture* capture) : from_(from), to_(to), capture_(capture) {}
  void listen(OutputListener* listener, OutputListener::From as) {
    listener_ = listener;
    listener_name_ = as;
  }

  [[nodiscard]] bool done() const { return from_ < 0; }
  [[nodiscard]] bool wants_read() const { return from_ >= 0 && pending_.empty(); }
  [[nodiscard]] bool wants_write() const { return !pending_.empty(); }
  [[nodiscard]] int from() const { return from_; }
  [[nodiscard]] int to() const { return to_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // Both return false when this direction has come to its end.
  bool read_some();
  bool write_some();
  void stop() {
    from_ = -1;
    pending_.clear();
  }
  void preset(std::string bytes) { pending_ = std::move(bytes); }

 private:
  int from_;
  int to_;
  Capture* capture_;
  OutputListener* listener_ = nullptr;
  OutputListener::From listener_name_ = OutputListener::From::Out;
  std::string pending_;
  std::uint64_t bytes_ = 0;
};

class Streams {
 public:
  static Result<Streams> open(const StreamRequest& request);
  Streams(Streams&&) = default;
  Streams& operator=(Streams&&) = default;

  // The command's ends; they are closed by command_started().
  [[nodiscard]] const CommandStreams& command_ends() const { return command_; }
  void command_started();
  // Connects the master of the sandbox's pty with the caller's terminal.
  void attach_terminal(Fd master);
  [[nodiscard]] int terminal_master() const { return master_.get(); }

  std::vector<Relay>& relays() { return relays_; }
  // The relay of the command's stdin ended: close our end so that the command sees it.
  void close_input();
  // Bytes the command wrote, on both streams.
  [[nodiscard]] std::uint64_t output_bytes() const;
  // Copies what is left after the tree is dead, for at most five seconds.
  void drain();
  std::optional<Stream> take_out();
  std::optional<Stream> take_err();
  [[nodiscard]] bool input_relay(const Relay& relay) const;

 private:
  Streams() = default;
  Result<void> open_input(const StreamRequest& request);
  Result<void> open_output(const StreamRequest& request, int host_fd, int& command_end,
                           std::unique_ptr<Capture>& capture);

  CommandStreams command_;
  std::vector<Fd> command_fds_;
  std::vector<Fd> our_fds_;
  Fd input_end_;
  Fd master_;
  std::unique_ptr<Capture> out_;
  std::unique_ptr<Capture> err_;
  std::vector<Relay> relays_;
};

}  // namespace cordon
