// The programs of Slurm, as a person would type them: found on PATH, with words and without a
// shell. Cordon schedules nothing by itself.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace cordon::slurm {

struct Settings {
  std::string cluster;
  std::uint64_t array_size = 0;  // MaxArraySize: the largest index is one less
};
Result<Settings> settings();

// `options` without "--". The id of the job. The environment of the job is what is given here.
Result<std::string> submit(const std::vector<std::string>& options, const std::string& script,
                           const std::vector<std::string>& environment);

struct QueuedTask {
  std::string state;  // in the words of the scheduler: "PENDING"
  std::string node;
  std::string reason;  // why it waits, or ended
};
// Of the array `job`, whose name is `name`, by index: every task that the scheduler still knows.
Result<std::map<std::uint64_t, QueuedTask>> queue(const std::string& job, const std::string& name);
// Whether the scheduler will neither start nor continue it.
bool is_over(const QueuedTask& task);

Result<void> requeue(const std::string& task);  // JOB_INDEX
Result<void> cancel(const std::string& job);

}  // namespace cordon::slurm
