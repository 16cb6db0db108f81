#include "mcp/client.h"

#include <algorithm>

namespace cordon::mcp {

Client::~Client() {
  for (const auto& known : activities_)
    if (const auto activity = known.lock()) activity->end();
}

void Client::began(const std::shared_ptr<Activity>& activity) {
  const std::lock_guard lock(mutex_);
  std::erase_if(activities_, [](const auto& known) { return known.expired(); });
  activities_.push_back(activity);
}

bool Client::is_at_work() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(activities_, [](const auto& known) {
    const auto activity = known.lock();
    return activity != nullptr && activity->goes_on();
  });
}

}  // namespace cordon::mcp
