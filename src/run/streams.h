// How the command's three streams are connected to the outside. Only an anonymous pipe is ever
// handed over as it is: through an inherited regular file the command could truncate, seek or chmod
// it, through a terminal it could read keys, through a socket it could be sent descriptors.
#pragma once

#include <sys/types.h>

#include <termios.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "cordon/outcome.h"
#include "cordon/streams.h"
#include "sandbox/backend.h"

namespace cordon {

// The caller's terminal while a command runs behind a pty: raw, and put back on every way out.

class RawTerminal {
 public:
  RawTerminal() = default;
  ~RawTerminal() { restore(); }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  // Standard input becomes raw; keys such as Ctrl-C go through the pty as bytes. Only to be called
  // in the foreground: elsewhere the kernel would stop this process for it.
  void enter();
  void restore();
  // The terminal is somebody else's now, and so are its modes.
  void forget() { raw_ = false; }

 private:
  bool raw_ = false;
  bool known_ = false;
  termios before_{};
};

// False for a background job: it may neither read its terminal nor change its modes.
bool in_foreground();
// Stops this process as the suspend key would, and returns when it is continued; at once if nobody
// could continue it.
void stop_as_by_key();

struct WindowSize {
  unsigned short rows = 0;
  unsigned short columns = 0;
};
// Of the caller's terminal; zero if there is none.
WindowSize window_size();
// Gives the pty the size of the caller's window.
void copy_window_size(int master);

// Capture: the first and the last bytes of a stream, in bounded memory, however much is written.

class Capture {
 public:
  // Keeps at most `limit` bytes: half from the beginning, half from the end.
  explicit Capture(std::uint64_t limit);
  void add(std::string_view bytes);
  [[nodiscard]] Stream take();

 private:
  std::size_t head_limit_;
  std::size_t tail_limit_;
  std::string head_;
  std::string ring_;        // the last bytes, in a circle once it is full
  std::size_t oldest_ = 0;  // where the circle begins
  std::uint64_t bytes_ = 0;
};

// Relay: copies one of the command's streams. It reads only when the last block is delivered, so
// memory is bounded and a slow reader slows the command.

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

// Output of a command that did not reach the caller: a full disk, a reader that is gone, one that
// pauses for too long. The run tells it as a denial of the layer "relay".

// `error` is the errno of the write, or ETIMEDOUT if nobody took what was left.
Denial lost_output(int error);
// A command whose output did not arrive has not succeeded, whether it noticed or not.
End end_with_lost_output(const End& end);
// "cannot write the command's output: No space left on device"; nothing for other denials, and
// nothing for a reader that has gone, who does not want to hear why.
std::optional<std::string> lost_output_message(const Denial& denial);
// True for the denial that lost_output() makes.
bool is_lost_output(const Denial& denial);

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
  Fd reading_end;  // of the command's pipe: tells how much nobody has read
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
