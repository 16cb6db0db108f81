// A PostgreSQL database as a destination: each batch is one transaction, and a record that is there
// already is passed over. So a record is sent at least once, and stored once.
#pragma once

#include "ship/database.h"
#include "ship/destination.h"

namespace cordon::ship {

class DatabaseDestination final : public Destination {
 public:
  DatabaseDestination(const Libpq& pq, Target target, audit::Place log, Interruption& interruption)
      : pq_(pq), target_(std::move(target)), log_(std::move(log)), interruption_(interruption) {}

  [[nodiscard]] std::string_view called() const override { return "the database"; }
  [[nodiscard]] BatchBounds bounds() const override;
  [[nodiscard]] bool stores_once() const override { return true; }
  [[nodiscard]] bool keeps_checkpoints() const override { return true; }
  Answer<std::string> open() override;
  void close() override { database_.reset(); }
  Answer<Taken> take(const Batch& batch) override;

 private:
  const Libpq& pq_;
  Target target_;
  audit::Place log_;
  Interruption& interruption_;
  std::optional<Database> database_;
  std::string node_;
};

}  // namespace cordon::ship
