// WorkerPool: a bounded number of threads and a bounded queue before them. Threads are started when
// work comes, so a server that is only asked for its lists has none.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cordon::mcp {

class WorkerPool {
 public:
  WorkerPool(std::size_t threads, std::size_t queue);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();  // waits for all work

  // False: the queue is full, or the pool was stopped.
  [[nodiscard]] bool submit(std::function<void()> work);
  // Takes no more work and drops what has not begun. True if all that had begun ended in time.
  [[nodiscard]] bool stop(std::chrono::milliseconds timeout);

 private:
  void work();
  void start_thread();

  const std::size_t max_threads_;
  const std::size_t max_queue_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable quiet_;
  std::deque<std::function<void()>> queue_;
  std::vector<std::thread> threads_;
  std::size_t busy_ = 0;
  bool stopped_ = false;
};

}  // namespace cordon::mcp
