// `cordon fleet status`, `collect` and `cancel`: what became of a submitted job.
#include <unistd.h>

#include <ctime>

#include "base/text.h"
#include "faces/cli/console.h"
#include "faces/cli/verbs.h"
#include "faces/fleet/fleet_job.h"
#include "faces/fleet/submission.h"
#include "host/resolve.h"

namespace cordon {
namespace {

constexpr std::uint64_t kListed = 10;

Result<Submission> asked_submission(const Arguments& arguments) {
  if (arguments.operands.size() != 1) {
    return fail(usage_error("name one job, by the id that cordon fleet submit printed",
                            "cordon fleet status JOB"));
  }
  CORDON_TRY(caller, identify_caller());
  return Submission::find(std::string(arguments.operands.front()), caller);
}

int job_failure(const Error& error) {
  say_error(error);
  return kAnswerError;
}

std::string state_text(const JobState& state) {
  std::string text = std::to_string(state.final) + " of " + std::to_string(state.tasks) + " done";
  const auto add = [&](std::uint64_t count, const char* what) {
    if (count > 0) text += ", " + std::to_string(count) + " " + what;
  };
  add(state.running, "running");
  add(state.waiting - state.held, "waiting");
  add(state.held, "held");
  add(state.ended, "ended without a record");
  add(state.unknown, "unknown");
  return text;
}

std::string state_line(const JobState& state) {
  constexpr std::size_t kWidth = 30;
  return bar(state.final, state.tasks, kWidth, BarStyle::Plain) + " " + state_text(state);
}

void say_what_helps(const JobState& state) {
  if (state.held > 0) {
    say("cordon: held tasks are not started until somebody types scontrol release " + state.job +
        "\n");
  }
  if (state.ended > 0) {
    say("cordon: the scheduler is done with " + std::to_string(state.ended) +
        " task(s) that left no record; cordon fleet collect " + state.job + " makes it\n");
  }
}

void pause_seconds(time_t seconds) {
  const timespec pause{seconds, 0};
  (void)::nanosleep(&pause, nullptr);
}

int status_of_job(const JobState& state) {
  return state.final == state.tasks ? kAnswerYes : kAnswerNo;
}

// One line on a terminal, written over; elsewhere one for each change.
Result<int> follow_job(const Submission& submission) {
  std::string before;
  for (;;) {
    CORDON_TRY(view, view_job(submission));
    if (view.unasked) return fail(*view.unasked);
    const std::string line = state_line(view.state);
    if (line != before) say(counts_in_place() ? "\r\033[K" + line : line + "\n");
    before = line;
    if (view.state.running + view.state.waiting == 0) {
      if (counts_in_place()) say("\n");
      say_what_helps(view.state);
      return status_of_job(view.state);
    }
    pause_seconds(1);
  }
}

Result<int> tell_status(const Arguments& arguments) {
  CORDON_TRY(submission, asked_submission(arguments));
  if (arguments.has(FlagId::Follow)) return follow_job(submission);
  CORDON_TRY(view, view_job(submission));
  const JobState& state = view.state;
  if (view.unasked) say_error(*view.unasked);
  if (arguments.has(FlagId::Json)) {
    if (!say_answer(job_json(state))) return kAnswerError;
  } else {
    TextTable table({{"node"}, {"running", Align::Right}});
    for (const auto& [name, count] : state.nodes) table.add({name, std::to_string(count)});
    const std::string nodes = state.nodes.empty() ? "" : table.text();
    if (!say_answer(state_line(state) + "\n" + nodes)) return kAnswerError;
    say_what_helps(state);
  }
  return view.unasked ? kAnswerError : status_of_job(state);
}

// In the order of the list. The same bytes each time, for each task that has its record.
Result<int> collect_records(const Arguments& arguments) {
  CORDON_TRY(submission, asked_submission(arguments));
  CORDON_TRY(first, view_job(submission));
  if (first.unasked) say_warning("what has no record yet is left out: " + message(*first.unasked));
  CORDON_CHECK(settle_ended(submission, first));
  CORDON_TRY(records, submission.final_tasks());
  for (const std::uint64_t index : records) {
    CORDON_TRY(line, submission.record(index));
    if (!say_answer(line)) return kAnswerError;
  }
  const std::uint64_t tasks = submission.facts().tasks;
  if (records.size() == tasks) return kAnswerYes;
  std::string missing;
  std::uint64_t listed = 0;
  for (std::uint64_t index = 0; index < tasks && listed < kListed; ++index) {
    if (records.contains(index)) continue;
    missing += (listed++ == 0 ? "" : ", ") + std::to_string(index + 1);
  }
  const std::uint64_t count = tasks - records.size();
  say("cordon: " + std::to_string(count) + " of " + std::to_string(tasks) +
      " task(s) have no record yet: number " + missing + (count > kListed ? ", ..." : "") + "\n");
  return kAnswerNo;
}

Result<int> cancel_job(const Arguments& arguments) {
  CORDON_TRY(submission, asked_submission(arguments));
  CORDON_TRY(job, submission.job());
  CORDON_TRY(before, view_job(submission));
  if (before.unasked) return fail(*before.unasked);
  if (before.state.final == before.state.tasks) {
    say("cordon: every task of job " + job + " is over already\n");
    return kAnswerNo;
  }
  // First: a task that is ended from now on knows why, and one that is started ends at once.
  CORDON_CHECK(submission.mark_cancelled());
  if (before.state.running + before.state.waiting > 0) CORDON_CHECK(slurm::cancel(job));
  // A scheduler kills what does not end by itself after KillWait, half a minute by default.
  constexpr int kLongest = 60;
  for (int second = 0;; ++second) {
    CORDON_TRY(view, view_job(submission));
    if (view.unasked) return fail(*view.unasked);
    CORDON_CHECK(settle_ended(submission, view));
    const std::uint64_t alive = view.state.running + view.state.waiting;
    if (alive == 0) break;
    if (second == kLongest) {
      say("cordon: " + std::to_string(alive) + " task(s) have not ended yet; cordon fleet status " +
          job + " tells when they have\n");
      break;
    }
    pause_seconds(1);
  }
  CORDON_TRY(after, view_job(submission));
  if (arguments.has(FlagId::Json)) {
    return say_answer(job_json(after.state)) ? kAnswerYes : kAnswerError;
  }
  say("cordon: job " + job +
      " is cancelled: " + std::to_string(after.state.final - before.state.final) +
      " task(s) ended by it, " + std::to_string(before.state.final) + " were done before\n");
  return kAnswerYes;
}

}  // namespace

int verb_fleet_status(const Arguments& arguments) {
  const auto status = tell_status(arguments);
  return status ? *status : job_failure(status.error());
}

int verb_fleet_collect(const Arguments& arguments) {
  const auto status = collect_records(arguments);
  return status ? *status : job_failure(status.error());
}

int verb_fleet_cancel(const Arguments& arguments) {
  const auto status = cancel_job(arguments);
  return status ? *status : job_failure(status.error());
}

}  // namespace cordon
