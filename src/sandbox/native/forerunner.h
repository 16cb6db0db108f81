// Forerunner: makes the namespaces of a sandbox while its run is still judged.
//
// A new network namespace alone takes the kernel a third of a millisecond, and nothing of a policy
// is needed for it. So a process is sent ahead on another processor. It shares the memory and the
// descriptors of this one, so that nothing is copied for it and nothing has to be handed over: once
// the plan is made it is told to start the sandbox's init in its namespaces, which begins as a copy
// of this process as it is then, and ends. See docs/adr/0105-namespaces-before-the-plan.md.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/fd.h"
#include "sys/calls.h"

namespace cordon::native {

class Forerunner {
 public:
  // What a new process runs; it does not return.
  using Body = void (*)(const void* argument);

  // Sends it ahead. Nothing where that cannot be done: who starts the sandbox then does all of it,
  // and says what is refused.
  static std::unique_ptr<Forerunner> send();
  // Ends it, if it was not followed.
  ~Forerunner();
  Forerunner(const Forerunner&) = delete;
  Forerunner& operator=(const Forerunner&) = delete;

  // Starts `body` in a copy of this process, a child of it that is pid 1 in the namespaces that
  // were made, a user namespace among them; born in the v2 group `cgroup` if there is one. Call it
  // with signals blocked. A pid of zero: it could not be done, and nothing was started; so at the
  // second call.
  sys::CloneResult follow(int cgroup, Body body, const void* argument);

 private:
  Forerunner();
  static int run(void* self);
  void make_namespaces();
  std::uint32_t order();
  void start_init();
  // Gives the order and waits until it has ended.
  void end_by(std::uint32_t order);

  // What the kernel waits for has this size.
  static constexpr std::uint32_t kNone = 0;
  static constexpr std::uint32_t kFollow = 1;
  static constexpr std::uint32_t kEnd = 2;
  std::atomic<std::uint32_t> order_ = kNone;
  // Written by one of both, and read by the other after the order or after the end.
  bool made_ = false;
  int cgroup_ = -1;
  Body body_ = nullptr;
  const void* argument_ = nullptr;
  int init_pidfd_ = -1;
  pid_t init_ = 0;

  pid_t parent_;
  Fd process_;
  std::unique_ptr<char[]> stack_;
};

}  // namespace cordon::native
