// How far a submitted job is: the records that are there, and for the other tasks what the
// scheduler says of them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/result.h"
#include "faces/fleet/slurm_calls.h"
#include "faces/fleet/submission.h"

namespace cordon {

struct JobState {
  std::string job;
  std::string directory;
  std::uint64_t tasks = 0;
  std::uint64_t final = 0;  // have their record
  std::uint64_t running = 0;
  std::uint64_t waiting = 0;  // to be started, or started again
  std::uint64_t held = 0;     // of these, until somebody releases them
  std::uint64_t ended = 0;    // the scheduler is done with them, and collect makes their record
  std::uint64_t unknown = 0;  // the scheduler could not be asked
  bool cancelled = false;
  std::map<std::string, std::uint64_t> nodes;  // where tasks run
};

std::string job_json(const JobState& state);

struct JobView {
  JobState state;
  std::set<std::uint64_t> with_record;
  std::map<std::uint64_t, slurm::QueuedTask> queue;
  std::optional<Error> unasked;  // why the scheduler could not be asked
};
Result<JobView> view_job(const Submission& submission);

// Makes the record of every task that the scheduler is done with and that has none: it was
// cancelled, or its time or its machine came to an end.
Result<void> settle_ended(const Submission& submission, const JobView& view);

}  // namespace cordon
