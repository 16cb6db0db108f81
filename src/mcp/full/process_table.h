// ProcessTable: the processes of one server, each of one client. Their names mean nothing to
// another server, nor to another client of the same one. Those that ended stay readable until newer
// ones of the same client need their room. A process dies with its client, and all with the table.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mcp/full/process.h"

namespace cordon::mcp {

struct TableBounds {
  std::size_t running = 16;  // of one client
  std::size_t running_of_all = 64;
  std::size_t kept = 24;  // ended ones of one client
};

class ProcessTable {
 public:
  explicit ProcessTable(TableBounds bounds) : bounds_(bounds) {}
  ~ProcessTable();
  ProcessTable(const ProcessTable&) = delete;
  ProcessTable& operator=(const ProcessTable&) = delete;

  // `order.id` is set here. An error if too many are running.
  Result<std::shared_ptr<Process>> start(Process::Order order,
                                         const std::shared_ptr<Client>& client);
  // Null: not one of this client, or forgotten.
  [[nodiscard]] std::shared_ptr<Process> find(const std::string& id,
                                              const std::shared_ptr<Client>& client) const;
  // Of this client, in the order they were started.
  [[nodiscard]] std::vector<std::shared_ptr<Process>> list(
      const std::shared_ptr<Client>& client) const;
  // Of all clients, for the account of the server.
  [[nodiscard]] std::vector<std::shared_ptr<Process>> list_all() const;
  [[nodiscard]] const TableBounds& bounds() const { return bounds_; }

 private:
  const TableBounds bounds_;
  mutable std::mutex mutex_;
  struct Entry {
    std::shared_ptr<Process> process;
    std::weak_ptr<Client> client;

    [[nodiscard]] bool is_of(const std::shared_ptr<Client>& wanted) const {
      return !client.expired() && client.lock() == wanted;
    }
    [[nodiscard]] bool running() const { return process->status().running; }
  };
  std::vector<Entry> entries_;
};

}  // namespace cordon::mcp
