#include "faces/loop/events.h"

namespace cordon::loop {

std::string_view name_of(LoopEnded::Why why) {
  switch (why) {
    case LoopEnded::Why::Complete:
      return "complete";
    case LoopEnded::Why::Incomplete:
      return "incomplete";
    case LoopEnded::Why::Stopped:
      return "stopped";
    case LoopEnded::Why::Uncontained:
      return "uncontained";
    case LoopEnded::Why::Failed:
      return "failed";
  }
  return "failed";
}

int exit_status(const LoopEnded& end) {
  constexpr int kIncomplete = 1;
  constexpr int kStopped = 130;
  constexpr int kUncontained = 125;
  switch (end.why) {
    case LoopEnded::Why::Complete:
      return 0;
    case LoopEnded::Why::Incomplete:
      return kIncomplete;
    case LoopEnded::Why::Stopped:
      return kStopped;
    case LoopEnded::Why::Uncontained:
      return kUncontained;
    case LoopEnded::Why::Failed:
      return end.error ? end.error->exit_status : kUncontained;
  }
  return kUncontained;
}

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
