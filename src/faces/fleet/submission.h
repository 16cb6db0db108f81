// What was submitted, as files in one directory that the submitter and every node see:
//
//   job.json             what it is: how many tasks, their policy, where and how often they are
//   tried job                  the id that the scheduler gave it policy-HASH.toml     the whole
//   policy tasks-HASH.jsonl     the lines as they were written, and tasks-HASH.index: where each
//   begins attempts/I.N.json    attempt N of task I has begun; I.N.end.json: it is over, and how
//   attempts/I.now       the number of the newest one: an older one that sees it stops
//   final/I.json         the record of task I
//   cancelled            somebody cancelled it
//
// A record is made by link(2), which one of several wins, on a network file system too. So each
// task has one and it never changes, whoever was killed or slow, and nothing depends on anybody's
// clock.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "config/node.h"
#include "faces/fleet/task_list.h"
#include "policy/host_facts.h"

namespace cordon {

struct SubmissionFacts {
  std::uint64_t tasks = 0;
  std::uint64_t attempts = 0;  // the most of each task
  std::string policy;          // names of files beside it
  std::string list;            // without its ending
  std::string policy_hash;
  std::string cwd;      // where it was submitted
  std::string program;  // cordon
  std::string name;     // of the job
  std::string cluster;
};

// What has come of one attempt. The words are those of the records.
struct AttemptEnd {
  enum class How { Final, Requeued, Ended };  // Ended: by a signal of the scheduler
  How how = How::Final;
  std::optional<Error> error;  // why it was requeued, or not
  Node report;                 // null: there is none
};

class Submission {
 public:
  // A directory of its own that is not there yet.
  static Result<Submission> make(const std::string& directory);
  static Result<Submission> open(const std::string& directory);
  // By the id of a job, or by the directory.
  static Result<Submission> find(const std::string& word, const Caller& caller);
  static std::string default_place(const Caller& caller);

  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] const SubmissionFacts& facts() const { return facts_; }
  [[nodiscard]] Result<std::string> job() const;

  // While it is made.
  [[nodiscard]] Result<void> write(const std::string& name, std::string_view text) const;
  Result<void> describe(SubmissionFacts facts);
  // Remembers the job, here and among the jobs of the caller.
  [[nodiscard]] Result<void> submitted(const std::string& job, const Caller& caller) const;
  void remove() const;  // of one that came to nothing

  // On a node.
  [[nodiscard]] Result<FleetTask> task(std::uint64_t index) const;
  // Whether the policy is the one that was submitted.
  [[nodiscard]] Result<void> check_policy() const;
  // False if a newer one has begun.
  [[nodiscard]] Result<bool> begin(std::uint64_t index, std::uint64_t attempt,
                                   const std::string& node) const;
  [[nodiscard]] bool is_newest(std::uint64_t index, std::uint64_t attempt) const;
  [[nodiscard]] Result<void> end(std::uint64_t index, std::uint64_t attempt,
                                 const AttemptEnd& end) const;

  // The record of a task: true if it is this one.
  [[nodiscard]] Result<bool> finish(std::uint64_t index, std::uint64_t attempt,
                                    const Node& report) const;
  [[nodiscard]] bool is_final(std::uint64_t index) const;
  [[nodiscard]] Result<std::set<std::uint64_t>> final_tasks() const;
  [[nodiscard]] Result<std::string> record(std::uint64_t index) const;  // its line
  // Of the last attempt that was begun; 0: there was none.
  [[nodiscard]] std::uint64_t newest(std::uint64_t index) const;
  // Which attempt starts now, if the scheduler says that it has started the task `restarts` times
  // before. Its count is not trusted alone: what follows an attempt that asked for another is
  // newer.
  [[nodiscard]] std::uint64_t number_of_attempt(std::uint64_t index, std::uint64_t restarts) const;
  // The report of an attempt that the scheduler ended; null: there is none.
  [[nodiscard]] Node report_of(std::uint64_t index, std::uint64_t attempt) const;

  [[nodiscard]] Result<void> mark_cancelled() const;
  [[nodiscard]] bool is_cancelled() const;

 private:
  Submission(std::string directory, Fd opened)
      : directory_(std::move(directory)), opened_(std::move(opened)) {}
  [[nodiscard]] std::string task_id(std::uint64_t index) const;
  [[nodiscard]] Node attempts_of(std::uint64_t index, std::uint64_t last) const;
  [[nodiscard]] Result<void> put(const std::string& name, std::string_view text,
                                 std::string_view smaller) const;

  std::string directory_;
  Fd opened_;
  SubmissionFacts facts_;
};

// The report of a task that nothing was started of.
Node refused_report(const Error& error);

}  // namespace cordon
