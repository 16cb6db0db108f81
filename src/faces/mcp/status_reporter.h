// What a server says on standard error while it serves. A host that does not read it must not stop
// the server: what would have to wait is dropped.
#pragma once

#include <mutex>
#include <string_view>

namespace cordon {

class StatusReporter {
 public:
  // One line, sanitized, cut where it is too long to be taken at once. From any thread.
  void say_line(std::string_view text);

 private:
  std::mutex mutex_;
};

}  // namespace cordon
