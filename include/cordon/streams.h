// Where the three streams of a command lead. Whatever is chosen, the command itself gets pipes: a
// file, a terminal or a socket of the caller is never handed over, so that it can be neither
// truncated nor read nor sent descriptors through.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace cordon {

// Which of its two streams a command wrote to.
enum class OutputFrom { Out, Err };

// Hears what a command writes, as it writes it and in pieces of any size, on the thread that waits
// for the run. While it works the command waits for room in its pipe. It must not throw: an
// exception that leaves it ends the process.
using OutputCallback = std::function<void(OutputFrom from, std::string_view bytes)>;

// What a command reads.
class Input {
 public:
  // Nothing: its input is at its end.
  Input() = default;
  // These bytes, then the end.
  static Input of_bytes(std::string bytes);
  // What this descriptor of the caller gives, and what is read is gone for everybody else who holds
  // it: of a terminal, the keys that a person types. It stays the caller's, and open during the
  // run. The position of a file is set behind what the command has read.
  static Input drawn_from(int descriptor);

 private:
  friend class Streams;
  struct Descriptor {
    int number = -1;
  };
  std::variant<std::monostate, std::string, Descriptor> from_;
};

// Where a command's output goes.
class Output {
 public:
  // Into the report, as much as the policy's limit of output keeps.
  Output() = default;
  // The same, and to `callback` as it comes: all of it, beyond what is kept too.
  static Output heard_by(OutputCallback callback);
  // To two descriptors of the caller, unread and unchanged, and not into the report: bytes that
  // drive a terminal drive it. They stay the caller's, and open during the run; -1 is nowhere.
  static Output unfiltered_to(int out, int err);

 private:
  friend class Streams;
  struct Descriptors {
    int out = -1;
    int err = -1;
  };
  using Callback = std::shared_ptr<const OutputCallback>;
  std::variant<std::monostate, Callback, Descriptors> to_;
};

}  // namespace cordon
