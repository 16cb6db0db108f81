#include "faces/mcp/worker_pool.h"

#include <csignal>

namespace cordon::mcp {

WorkerPool::WorkerPool(std::size_t threads, std::size_t queue)
    : max_threads_(threads), max_queue_(queue) {}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    queue_.clear();
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool WorkerPool::submit(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (stopped_ || queue_.size() >= max_queue_) return false;
  queue_.push_back(std::move(work));
  if (busy_ + queue_.size() > threads_.size() && threads_.size() < max_threads_) start_thread();
  wake_.notify_one();
  return true;
}

bool WorkerPool::stop(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  stopped_ = true;
  queue_.clear();
  wake_.notify_all();
  return quiet_.wait_for(lock, timeout, [&] { return busy_ == 0; });
}

// Signals belong to the thread that serves: one that were delivered here would end the process.
void WorkerPool::start_thread() {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  threads_.emplace_back([this] { work(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void WorkerPool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stopped_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::function<void()> next = std::move(queue_.front());
    queue_.pop_front();
    ++busy_;
    lock.unlock();
    next();
    next = nullptr;  // what it held goes before the pool counts as quiet
    lock.lock();
    --busy_;
    if (busy_ == 0) quiet_.notify_all();
  }
}

}  // namespace cordon::mcp
