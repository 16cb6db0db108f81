// How the command's three streams are connected to the outside. Only an anonymous pipe is ever
// handed over as it is: through an inherited regular file the command could truncate, seek or chmod
// it, through a terminal it could read keys, through a socket it could be sent descriptors.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "cordon/outcome.h"
#include "cordon/streams.h"
#include "run/capture.h"
#include "run/relay.h"
#include "sandbox/backend.h"

namespace cordon {

struct StreamRequest {
  Input in;
  Output out;
  // The reading end of an anonymous pipe, instead of `in`. The run takes it over: what is held here
  // would keep the writer from seeing that nobody reads any more.
  std::shared_ptr<Fd> input_pipe;
  // A socket instead of `in`, for Cordon's own spawner of a session alone: any other command could
  // be sent descriptors over it. The run takes it over.
  std::shared_ptr<Fd> spawner_socket;
  // Output always goes through pipes of the run: what goes on in the background would hold those of
  // the caller, and whoever reads them would wait for it.
  bool relay_output = false;
  bool terminal = false;  // a pty between the caller's terminal and the command
  std::uint64_t keep = std::uint64_t{10} * 1024;  // bytes kept per captured stream
  std::optional<std::uint64_t> total;             // bytes after which the command is to be killed
};

// A file as standard input. Its position belongs to everybody who holds it open, so it stays where
// it was during the run and is set once at the end, behind what the command has read.
struct InputFile {
  int descriptor = -1;
  off_t start = 0;
  // Of the command's pipe: tells how much nobody has read. Not open if it is read through a
  // terminal.
  Fd reading_end;
};

class Streams {
 public:
  // Before the run opens a file of its own: that would get the number of a descriptor that is not
  // open, and the command's output would go into it.
  static Result<void> check(const StreamRequest& request);
  static Result<Streams> open(const StreamRequest& request);
  Streams(Streams&&) = default;
  Streams& operator=(Streams&&) = default;

  // The command's ends; they are closed by command_started().
  [[nodiscard]] const CommandStreams& command_ends() const { return command_; }
  void command_started();
  // Lets another user than this one open them by name: a program that opens /dev/stdout opens the
  // pipe anew, and is judged by the pipe's owner.
  Result<void> give_to(uid_t uid, gid_t gid);
  // Connects the master of the sandbox's pty with the caller's terminal.
  void attach_terminal(Fd master);
  [[nodiscard]] int terminal_master() const { return master_.get(); }

  std::vector<Relay>& relays() { return relays_; }
  // To be called after a relay moved something: the command learns that its input has ended, or
  // that its terminal is gone.
  void settle(const Relay& relay);
  // Bytes the command wrote, on both streams.
  [[nodiscard]] std::uint64_t output_bytes() const;
  // When the tree is dead: copies what is left, for as long as somebody takes it, and leaves in a
  // file that was the input what the command has not read. Where processes may go on in the
  // background (`Left::Some`), what they write later is nobody's: they get SIGPIPE.
  enum class Left { None, Some };
  void drain(Left left = Left::None);
  // Why bytes that the command wrote were lost, as errno; 0: none were. ETIMEDOUT: nobody took
  // them.
  [[nodiscard]] int lost_output() const;
  std::optional<Stream> take_out();
  std::optional<Stream> take_err();

 private:
  Streams() = default;
  Result<void> open_input(const StreamRequest& request);
  Result<void> open_input_from(int descriptor);
  void close_input() { input_end_.reset(); }
  void return_unread();
  Result<void> open_output(const StreamRequest& request, OutputFrom from, int& command_end,
                           std::unique_ptr<Capture>& capture);

  CommandStreams command_;
  std::vector<Fd> command_fds_;
  Fd input_end_;
  std::optional<InputFile> input_file_;
  Fd master_;
  std::unique_ptr<Capture> out_;
  std::unique_ptr<Capture> err_;
  std::vector<Relay> relays_;
};

}  // namespace cordon
