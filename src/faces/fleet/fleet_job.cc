#include "faces/fleet/fleet_job.h"

#include "base/text.h"

namespace cordon {
namespace {

Result<std::map<std::uint64_t, slurm::QueuedTask>> asked_queue(const Submission& submission,
                                                               const std::string& job) {
  CORDON_TRY(settings, slurm::settings());
  // Another cluster knows nothing of the job, which would look like its end.
  if (settings.cluster != submission.facts().cluster) {
    return fail(Error{.kind = ErrorKind::Unavailable,
                      .what = "the job was submitted to the cluster " +
                              quote(submission.facts().cluster) + ", and this is " +
                              quote(settings.cluster),
                      .hint = "ask where that cluster is configured, or set SLURM_CONF"});
  }
  return slurm::queue(job, submission.facts().name);
}

Error end_by_scheduler(const Submission& submission, const slurm::QueuedTask* task) {
  if (submission.is_cancelled()) return setup_error("cancelled", 0);
  if (task == nullptr) {
    return setup_error("the scheduler knows the task no more, and it left no record", 0,
                       "sacct may tell what became of it");
  }
  std::string what = "the scheduler ended the task: " + sanitize(task->state);
  if (!task->reason.empty() && task->reason != "None") what += ", " + sanitize(task->reason);
  if (!task->node.empty()) what += ", on " + sanitize(task->node);
  return setup_error(std::move(what), 0,
                     task->state == "TIMEOUT" ? "give the policy a limit of time: [limits] wall"
                                              : "sacct may tell more");
}

}  // namespace

std::string job_json(const JobState& state) {
  Node node{NodeMap{}};
  node.set("schema", "cordon.fleet-job/1")
      .set("job", state.job)
      .set("directory", state.directory)
      .set("tasks", state.tasks)
      .set("final", state.final)
      .set("running", state.running)
      .set("waiting", state.waiting)
      .set("held", state.held)
      .set("ended", state.ended)
      .set("unknown", state.unknown)
      .set("cancelled", state.cancelled);
  Node nodes{NodeMap{}};
  for (const auto& [name, count] : state.nodes) nodes.set(name, count);
  node.set("nodes", std::move(nodes));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

Result<JobView> view_job(const Submission& submission) {
  CORDON_TRY(job, submission.job());
  JobView view;
  JobState& state = view.state;
  state.job = job;
  state.directory = submission.directory();
  state.tasks = submission.facts().tasks;
  // Before the records: a task makes its own before the scheduler calls it over.
  auto queue = asked_queue(submission, job);
  CORDON_TRY(records, submission.final_tasks());
  view.with_record = std::move(records);
  state.final = view.with_record.size();
  state.cancelled = submission.is_cancelled();
  if (!queue) {
    state.unknown = state.tasks - state.final;
    if (state.unknown > 0) view.unasked = queue.error();
    return view;
  }
  view.queue = std::move(*queue);
  for (std::uint64_t index = 0; index < state.tasks; ++index) {
    if (view.with_record.contains(index)) continue;
    const auto found = view.queue.find(index);
    if (found == view.queue.end() || slurm::is_over(found->second)) {
      ++state.ended;
    } else if (found->second.state == "RUNNING" || found->second.state == "COMPLETING") {
      ++state.running;
      ++state.nodes[found->second.node];
    } else {
      ++state.waiting;
      const bool held = found->second.reason.find("Held") != std::string::npos ||
                        found->second.reason.find("Hold") != std::string::npos;
      if (held) ++state.held;
    }
  }
  return view;
}

Result<void> settle_ended(const Submission& submission, const JobView& view) {
  if (view.unasked) return {};
  for (std::uint64_t index = 0; index < view.state.tasks; ++index) {
    if (view.with_record.contains(index)) continue;
    const auto found = view.queue.find(index);
    const slurm::QueuedTask* task = found == view.queue.end() ? nullptr : &found->second;
    if (task != nullptr && !slurm::is_over(*task)) continue;
    const std::uint64_t last = submission.newest(index);
    Node report = last > 0 ? submission.report_of(index, last) : Node();
    if (report.map() == nullptr) report = refused_report(end_by_scheduler(submission, task));
    CORDON_CHECK(submission.finish(index, last, report));
  }
  return {};
}

}  // namespace cordon
