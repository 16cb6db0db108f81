// Control: what a person, or a signal, wants of a running loop. Any thread may ask; the loop's own
// thread looks.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>

#include "cordon/runner.h"

namespace cordon::loop {

class Control {
 public:
  void pause();
  void resume();
  void skip();  // the feature that is worked on
  void quit();

  // The run that a skip or a quit ends; none while nothing runs. Asked for before it was told, the
  // end comes at once.
  void running(std::optional<Cancel> run);
  [[nodiscard]] bool quitting() const;
  [[nodiscard]] bool paused() const;
  // True once for every skip.
  bool take_skip();
  // Returns when nobody wants a pause any more; `tell` is called if there is one.
  void wait_while_paused(const std::function<void(bool paused)>& tell);

 private:
  void end_run() const;  // with the lock held

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Cancel> run_;
  bool paused_ = false;
  bool skip_ = false;
  bool quit_ = false;
};

}  // namespace cordon::loop
