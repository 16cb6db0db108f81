// What every wait for another host has in common: what is in the way, and the person who wants to
// go.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include "base/fd.h"
#include "base/result.h"

namespace cordon::ship {

// What is in the way.
struct Trouble {
  enum class Kind {
    Refused,  // trying again changes nothing
    Away,     // the other side cannot be reached, or takes nothing at the moment
    Ended,    // the person wants to go
  };
  Kind kind = Kind::Refused;
  Error error;
  std::uint64_t pause_ms = 0;  // the other side asks not to be tried again before
  Trouble(Error why)
      : error(std::move(why)) {}  // NOLINT(google-explicit-constructor): of CORDON_TRY
  Trouble(Kind what, Error why) : kind(what), error(std::move(why)) {}
};
template <typename T>
using Answer = tl::expected<T, Trouble>;

// The person wants to go.
Trouble ended();

// INT, TERM and HUP, as long as it lives. They are taken between steps; a second one ends the
// process as ever.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  // Whether one came.
  [[nodiscard]] bool asked();
  // Waits for one, or for the descriptor, which may be -1; true once one came. No limit: a negative
  // one.
  bool wait(int descriptor, short events, int limit_ms);
  // The same with the answer whether the descriptor is ready; false once the time is over.
  Answer<bool> wait_until(int descriptor, short events,
                          std::chrono::steady_clock::time_point until);

 private:
  Fd signals_;
  bool asked_ = false;
};

}  // namespace cordon::ship
