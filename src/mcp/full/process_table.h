// ProcessTable: the processes of one server. Their names mean nothing to another one. Those that
// ended stay readable until newer ones need their room; all die with the table.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mcp/full/process.h"

namespace cordon::mcp {

struct TableBounds {
  std::size_t running = 16;
  std::size_t kept = 24;  // ended ones
};

class ProcessTable {
 public:
  explicit ProcessTable(TableBounds bounds) : bounds_(bounds) {}
  ~ProcessTable();
  ProcessTable(const ProcessTable&) = delete;
  ProcessTable& operator=(const ProcessTable&) = delete;

  // `order.id` is set here. An error if too many are running.
  Result<std::shared_ptr<Process>> start(Process::Order order);
  // Null: not one of ours, or forgotten.
  [[nodiscard]] std::shared_ptr<Process> find(const std::string& id) const;
  // In the order they were started.
  [[nodiscard]] std::vector<std::shared_ptr<Process>> list() const;
  [[nodiscard]] const TableBounds& bounds() const { return bounds_; }

 private:
  const TableBounds bounds_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Process>> processes_;
};

}  // namespace cordon::mcp
