// EventStream: the messages of one request on their way to one HTTP response.
#pragma once

#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "base/fd.h"
#include "mcp/outlet.h"

namespace cordon::mcp {

class EventStream final : public Outlet {
 public:
  EventStream();

  void send(std::string message, Weight weight) override;
  void answer(std::string message, std::optional<int> error_code) override;
  void close() override;
  // Closes it for the client's part; true if the answer was still to come.
  [[nodiscard]] bool abandon();

  // The answer, if it came before anything else: then no stream is needed.
  struct Plain {
    std::string message;
    std::optional<int> error_code;
  };
  std::optional<Plain> take_plain();

  // What the connection's thread does next. Waits for a message, the end, or `patience`.
  enum class Next {
    Gone,   // the client has closed the connection
    Ended,  // everything was taken
    Quiet,  // nothing happened
    Message,
  };
  Next next(int connection, std::chrono::milliseconds patience, std::string& message);

 private:
  void tell() const;
  void add(std::string message);

  Fd changed_;
  std::mutex mutex_;
  std::deque<std::string> queue_;
  std::size_t queued_bytes_ = 0;
  std::optional<int> error_code_;
  bool plain_ = false;
  bool ended_ = false;
};

}  // namespace cordon::mcp
