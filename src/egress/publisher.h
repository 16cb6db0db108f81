// Publisher: leads ports of the host's loopback to servers inside one sandbox, from a thread of the
// supervisor. It listens before the sandbox exists: where a port cannot be had, nothing is started.
#pragma once

#include <memory>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "cordon/outcome.h"
#include "cordon/policy.h"

namespace cordon {

class Publisher {
 public:
  static Result<Publisher> make(const std::vector<PublishRule>& rules);
  Publisher(Publisher&&) noexcept;
  Publisher& operator=(Publisher&&) = delete;
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;
  // Closes the ports and every connection.
  ~Publisher();

  // Once. The source gives sockets of the sandbox's network (sys/sockets.h).
  void serve(Fd socket_source);
  // Ends it, and tells what came of each port.
  std::vector<Published> end();

 private:
  struct State;
  explicit Publisher(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cordon
