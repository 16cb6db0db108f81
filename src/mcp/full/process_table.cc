#include "mcp/full/process_table.h"

#include <algorithm>

namespace cordon::mcp {

// All at once: their ends need not wait for each other.
ProcessTable::~ProcessTable() {
  for (const auto& process : processes_) process->kill();
}

Result<std::shared_ptr<Process>> ProcessTable::start(Process::Order order) {
  // Unguessable, as far as that matters: they are good in this server alone.
  order.id = "p-" + make_run_id();
  std::shared_ptr<Process> forgotten;  // ends after the lock
  const std::lock_guard lock(mutex_);
  const auto ended = [](const auto& process) { return !process->status().running; };
  const auto kept = static_cast<std::size_t>(std::ranges::count_if(processes_, ended));
  if (processes_.size() - kept >= bounds_.running) {
    return fail(usage_error("too many processes are running",
                            "stop one with stop_process, or wait until one ends"));
  }
  if (kept >= bounds_.kept) {
    const auto oldest = std::ranges::find_if(processes_, ended);
    forgotten = std::move(*oldest);
    processes_.erase(oldest);
  }
  CORDON_TRY(process, Process::start(std::move(order)));
  processes_.push_back(process);
  return process;
}

std::shared_ptr<Process> ProcessTable::find(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(processes_, [&](const auto& process) { return process->id() == id; });
  return found != processes_.end() ? *found : nullptr;
}

std::vector<std::shared_ptr<Process>> ProcessTable::list() const {
  const std::lock_guard lock(mutex_);
  return processes_;
}

}  // namespace cordon::mcp
