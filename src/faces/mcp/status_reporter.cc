#include "faces/mcp/status_reporter.h"

#include <poll.h>
#include <unistd.h>

#include <climits>

#include "base/text.h"
#include "faces/cli/console.h"

namespace cordon {

void StatusReporter::say_line(std::string_view text) {
  std::string line = "cordon: " + sanitize(text);
  if (line.size() >= PIPE_BUF) line.resize(PIPE_BUF - 1);
  line.push_back('\n');
  const std::lock_guard alone(mutex_);
  // A pipe that is ready takes PIPE_BUF bytes without waiting; so does a stream socket.
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0) say(line);
}

}  // namespace cordon
