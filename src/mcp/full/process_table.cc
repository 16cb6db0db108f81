#include "mcp/full/process_table.h"

#include <algorithm>

namespace cordon::mcp {

// All at once: their ends need not wait for each other.
ProcessTable::~ProcessTable() {
  for (const Entry& entry : entries_) entry.process->kill();
}

Result<std::shared_ptr<Process>> ProcessTable::start(Process::Order order,
                                                     const std::shared_ptr<Client>& client) {
  // Unguessable, as far as that matters: they are good in this server alone.
  order.id = "p-" + make_run_id();
  std::vector<Entry> forgotten;  // end after the lock
  const std::lock_guard lock(mutex_);
  // Of a client that is gone nobody can read any more what they wrote.
  const auto orphaned = std::ranges::stable_partition(
      entries_, [](const Entry& entry) { return !entry.client.expired(); });
  std::ranges::move(orphaned, std::back_inserter(forgotten));
  entries_.erase(orphaned.begin(), orphaned.end());
  const auto count = [&](const auto& matches) {
    return static_cast<std::size_t>(std::ranges::count_if(entries_, matches));
  };
  const auto ended = [&](const Entry& entry) { return entry.is_of(client) && !entry.running(); };
  const auto own = [&](const Entry& entry) { return entry.is_of(client) && entry.running(); };
  const auto any = [](const Entry& entry) { return entry.running(); };
  if (count(own) >= bounds_.running || count(any) >= bounds_.running_of_all) {
    return fail(usage_error("too many processes are running",
                            "stop one with stop_process, or wait until one ends"));
  }
  if (count(ended) >= bounds_.kept) {
    const auto oldest = std::ranges::find_if(entries_, ended);
    forgotten.push_back(std::move(*oldest));
    entries_.erase(oldest);
  }
  CORDON_TRY(process, Process::start(std::move(order)));
  entries_.push_back({process, client});
  client->began(process);
  return process;
}

std::shared_ptr<Process> ProcessTable::find(const std::string& id,
                                            const std::shared_ptr<Client>& client) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.process->id() == id && entry.is_of(client);
  });
  return found != entries_.end() ? found->process : nullptr;
}

std::vector<std::shared_ptr<Process>> ProcessTable::list(
    const std::shared_ptr<Client>& client) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Process>> own;
  for (const Entry& entry : entries_)
    if (entry.is_of(client)) own.push_back(entry.process);
  return own;
}

std::vector<std::shared_ptr<Process>> ProcessTable::list_all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Process>> all;
  for (const Entry& entry : entries_) all.push_back(entry.process);
  return all;
}

}  // namespace cordon::mcp
