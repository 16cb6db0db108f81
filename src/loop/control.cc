#include "loop/control.h"

namespace cordon::loop {

void Control::pause() {
  const std::lock_guard lock(mutex_);
  paused_ = true;
}

void Control::resume() {
  const std::lock_guard lock(mutex_);
  paused_ = false;
  changed_.notify_all();
}

void Control::skip() {
  const std::lock_guard lock(mutex_);
  skip_ = true;
  end_run();
  changed_.notify_all();
}

void Control::quit() {
  const std::lock_guard lock(mutex_);
  quit_ = true;
  end_run();
  changed_.notify_all();
}

void Control::end_run() const {
  if (run_) run_->cancel();
}

void Control::running(std::optional<Cancel> run) {
  const std::lock_guard lock(mutex_);
  run_ = std::move(run);
  if (skip_ || quit_) end_run();
}

bool Control::quitting() const {
  const std::lock_guard lock(mutex_);
  return quit_;
}

bool Control::paused() const {
  const std::lock_guard lock(mutex_);
  return paused_;
}

bool Control::take_skip() {
  const std::lock_guard lock(mutex_);
  return std::exchange(skip_, false);
}

void Control::wait_while_paused(const std::function<void(bool paused)>& tell) {
  std::unique_lock lock(mutex_);
  const auto wanted = [this] { return paused_ && !quit_ && !skip_; };
  if (!wanted()) return;
  lock.unlock();
  tell(true);
  lock.lock();
  changed_.wait(lock, [&] { return !wanted(); });
  lock.unlock();
  tell(false);
}

}  // namespace cordon::loop
