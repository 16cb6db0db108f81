// Patience: how long a connection may take to bring a whole request. The HTTP library only knows
// how long it was silent, so a client that sends a byte now and then could hold its place for ever.
#pragma once

#include <chrono>
#include <map>
#include <mutex>

namespace cordon::mcp {

class Patience {
 public:
  void connected(int socket);  // a new connection: its request must come soon
  void received(int socket);   // the whole request is here
  void answered(int socket);   // it may stay for another one
  void closed(int socket);     // called before the descriptor is closed
  void end_overdue();          // ends the connections whose time is over

 private:
  using Clock = std::chrono::steady_clock;
  void expect(int socket, Clock::duration time);

  std::mutex mutex_;
  std::map<int, Clock::time_point> deadlines_;
};

}  // namespace cordon::mcp
