// ship: copies the audit log of this host to a database. Each batch is one transaction; behind its
// commit the position is written. So a record is sent at least once, and the database stores it
// once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "ship/database.h"
#include "ship/spool.h"

namespace cordon::ship {

// When it ends.
enum class Until {
  FirstFailure,  // everything is copied, or the database is away
  Copied,        // everything is copied; waits for a database that is away
  Asked,         // somebody asks; goes on with what is recorded meanwhile
};

struct Delivery {
  std::string node;  // as the database knows this log; empty if it never answered
  std::uint64_t sent = 0;
  std::uint64_t stored = 0;  // what of it was not there before
  std::uint64_t checkpoints = 0;
  std::uint64_t last_seq = 0;
  bool complete = false;  // everything that was there when it ended is stored
};

struct Route {
  const Libpq* pq = nullptr;
  Target target;
  audit::Place log;
  Until until = Until::Copied;
  std::function<void(const std::string&)> tell;  // what happens meanwhile
};

// An error only for what trying again does not mend, or with FirstFailure. `delivery` says in any
// case how far it came.
Result<void> deliver(const Route& route, Spool& spool, Interruption& interruption,
                     Delivery& delivery);

}  // namespace cordon::ship
