// Destination: where a log is copied to. Whoever copies knows nothing else about it. What it took
// is durable there; what it may take twice, it is sent with its node and number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ship/interruption.h"
#include "ship/spool.h"

namespace cordon::ship {

struct Taken {
  std::uint64_t stored = 0;    // what was not there before, where that is told
  std::uint64_t rejected = 0;  // what it will not take, now or later
  std::uint64_t checkpoints = 0;
};

class Destination {
 public:
  Destination() = default;
  Destination(const Destination&) = delete;
  Destination& operator=(const Destination&) = delete;
  virtual ~Destination() = default;

  [[nodiscard]] virtual std::string_view called() const = 0;  // "the database"
  [[nodiscard]] virtual BatchBounds bounds() const = 0;
  // Whether it passes over what it has, and tells what was new.
  [[nodiscard]] virtual bool stores_once() const = 0;
  // Whether it keeps signed checkpoints beside the records.
  [[nodiscard]] virtual bool keeps_checkpoints() const = 0;

  // The name under which this log goes there. Called before the first batch, and again behind each
  // trouble.
  virtual Answer<std::string> open() = 0;
  virtual void close() = 0;
  // Returns behind the acknowledgement of the whole batch.
  virtual Answer<Taken> take(const Batch& batch) = 0;
};

}  // namespace cordon::ship
