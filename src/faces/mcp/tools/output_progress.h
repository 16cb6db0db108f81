// OutputProgress: tells a client that gave a progressToken how much a command has written, and its
// last line, twice a second at most, while the worker's thread waits for the command.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "cordon/streams.h"
#include "faces/mcp/call.h"
#include "faces/mcp/tools/secret_mask.h"

namespace cordon::mcp {

inline constexpr std::chrono::milliseconds kProgressInterval{500};
// As much of the end of a stream as last_line() is to be given: it finds the secrets in it.
inline constexpr std::size_t kProgressTail = std::size_t{16} << 10U;

// The last whole line that a terminal would show of the end of a stream, of 120 bytes at most, with
// secrets masked. A line that is still being written may hold the half of a secret. Empty if there
// is none, or if its beginning is not in `tail`.
enum class Tail { Whole, CutOff };
std::string last_line(std::string_view tail, Tail kind, const SecretMask& mask);

class OutputProgress {
 public:
  // Does nothing if the client did not ask for it. The call is this object's until it ends.
  OutputProgress(Call& call, const SecretMask& mask);
  ~OutputProgress();
  OutputProgress(const OutputProgress&) = delete;
  OutputProgress& operator=(const OutputProgress&) = delete;

  // Where the command's output is to go; it must not outlive this.
  Output output();

 private:
  struct Stream {
    std::uint64_t bytes = 0;
    std::string tail;
  };

  void hear(OutputFrom from, std::string_view bytes);
  void tell_now_and_then();
  void tell(std::unique_lock<std::mutex>& lock);

  Call& call_;
  const SecretMask& mask_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::array<Stream, 2> streams_;  // by OutputFrom
  std::thread thread_;
};

}  // namespace cordon::mcp
