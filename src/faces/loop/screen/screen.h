// The full-screen display of a loop, over ncurses. The loop works on another thread and tells its
// events; this one owns the terminal, which is given back as it was on every way out.
#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include "base/fd.h"
#include "base/result.h"
#include "faces/loop/events.h"
#include "faces/loop/screen_model.h"

namespace cordon::loop {

class Screen final : public Display {
 public:
  // `control` gets what the keys ask for.
  static Result<std::unique_ptr<Screen>> open(Control& control);
  explicit Screen(Control& control, Fd wake) : control_(control), wake_(std::move(wake)) {}

  // From the loop's thread.
  void show(const LoopEvent& event) override;
  // From any thread: leave as soon as the loop has ended, without a key.
  void leave_at_end();

  // Shows until the loop has ended and the person leaves.
  void run();

 private:
  void take_events();
  void take_keys();
  void paint(std::uint64_t seconds) const;
  void wake() const;

  Control& control_;
  const Fd wake_;
  std::mutex mutex_;
  std::deque<LoopEvent> events_;
  bool leaving_ = false;
  ScreenModel model_;
  bool left_ = false;
};

// Whether the terminal is one that can be painted on.
bool can_paint();

}  // namespace cordon::loop
