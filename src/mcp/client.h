// Client: who stands behind a session, and what goes on for it between its calls. Nobody else sees
// or stops that, and it ends when the client is gone. Safe for concurrent use.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace cordon::mcp {

// Something that goes on, such as a process.
class Activity {
 public:
  Activity() = default;
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;
  virtual ~Activity() = default;
  [[nodiscard]] virtual bool goes_on() const = 0;
  virtual void end() = 0;
};

class Client {
 public:
  Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  void began(const std::shared_ptr<Activity>& activity);
  // True while anything goes on.
  [[nodiscard]] bool is_at_work() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<Activity>> activities_;
};

}  // namespace cordon::mcp
