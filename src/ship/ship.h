// ship: copies the audit log of this host to a destination. Behind the acknowledgement of each
// batch the position is written, so a record is sent at least once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "ship/destination.h"
#include "ship/spool.h"

namespace cordon::ship {

// When it ends.
enum class Until {
  FirstFailure,  // everything is copied, or the destination is away
  Copied,        // everything is copied; waits for a destination that is away
  Asked,         // somebody asks; goes on with what is recorded meanwhile
};

struct Delivery {
  std::string node;  // the name of this log there; empty if nobody ever answered
  std::uint64_t sent = 0;
  std::optional<std::uint64_t> stored;  // what of it was not there before; nothing if nobody says
  std::uint64_t rejected = 0;           // what of it was not taken, and never will be
  std::uint64_t checkpoints = 0;
  std::uint64_t last_seq = 0;
  bool complete = false;  // everything that was there when it ended was sent
};

struct Route {
  Destination* destination = nullptr;
  audit::Place log;
  Until until = Until::Copied;
  std::function<void(const std::string&)> tell;  // what happens meanwhile
};

// An error only for what trying again does not mend, or with FirstFailure. `delivery` says in any
// case how far it came.
Result<void> deliver(const Route& route, Spool& spool, Interruption& interruption,
                     Delivery& delivery);

}  // namespace cordon::ship
