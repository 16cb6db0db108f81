// Outlet: where the messages that belong to one request go. Any thread may call it; no call waits
// for the peer.
#pragma once

#include <optional>
#include <string>

namespace cordon::mcp {

enum class Weight {
  Droppable,  // progress and log messages: lost when the peer does not read
  Needed,
};

class Outlet {
 public:
  Outlet() = default;
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;
  virtual ~Outlet() = default;

  // A notification, or a question of the server, while the request is open.
  virtual void send(std::string message, Weight weight) = 0;
  // The one response, with its error code if it is an error. Nothing is sent after it.
  virtual void answer(std::string message, std::optional<int> error_code) = 0;
  // The request has ended without a response: it was cancelled.
  virtual void close() = 0;
};

}  // namespace cordon::mcp
