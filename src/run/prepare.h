// What a judged run needs before its command can be started, and what is taken back if it is not.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "changes/private_copies.h"
#include "changes/removal.h"
#include "changes/run_lock.h"
#include "changes/stage.h"
#include "host/kept_files.h"
#include "run/egress_run.h"
#include "run/judge.h"
#include "run/memory_watch.h"
#include "run/run_note.h"
#include "run/state_upkeep.h"
#include "run/streams.h"
#include "run/tracked_run.h"

namespace cordon {

// Removes the private directories of a run when it is over.
class PrivateTree {
 public:
  explicit PrivateTree(std::string path) : path_(std::move(path)) {}
  ~PrivateTree() {
    if (!path_.empty()) (void)remove_private_tree(path_);
  }
  PrivateTree(const PrivateTree&) = delete;
  PrivateTree& operator=(const PrivateTree&) = delete;
  // What the run changed in it could not be kept: the next start tries again.
  void leave() { path_.clear(); }

 private:
  std::string path_;
};

// A run that began in the same tree at the same moment would hold this file in another way.
struct JudgeAgain {
  std::string file;
};

// In the order in which it is made; what was made last goes first.
class Prepared {
 public:
  // Nothing is left behind by a run whose command was not started, but for the directories that
  // last from run to run.
  using Made = std::variant<std::unique_ptr<Prepared>, JudgeAgain>;
  static Result<Made> make(const RunInput& input, JudgedRun& run, const std::string& run_id);
  Prepared(const JudgedRun& run, RunBranches branches);
  ~Prepared();
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  // From now on what the run wrote has to be looked at first.
  void started() { started_ = true; }
  // After that, and without an outcome. A program that is not there has written nothing, and its
  // stage is taken back; after anything else the next start looks at what lies in it.
  void failed(const Error& error);
  // There is an outcome instead, and what was written is about to be looked at.
  void settled() { stage_is_untouched_ = false; }

  std::optional<RunLock> at_work;  // of a run that may leave changes
  RunBranches branches;
  RunNote note;
  PrivateTree private_tree;
  std::vector<DirectoryInUse> in_use;  // that last from run to run
  PrivateCopies copies;
  std::optional<Stage> stage;
  std::optional<KeptFiles> kept;
  std::optional<Removal> removal;
  std::unique_ptr<Gate> gate;  // before the broker, which hands connections to it
  std::optional<Broker> broker;
  std::optional<Publisher> publisher;
  std::optional<Streams> streams;
  // Watching begins before the command can make anything appear.
  std::optional<GitWatch> git_watch;

 private:
  Result<std::optional<std::string>> take_note(const JudgedRun& run, const std::string& run_id);
  Result<void> fill(const RunInput& input, JudgedRun& run, const std::string& run_id);
  bool started_ = false;
  bool stage_is_untouched_ = true;
};

// Which limits the supervisor holds itself, and what it listens to.
SuperviseRequest supervise_request(const RunInput& input, const JudgedRun& run,
                                   const GitWatch& git_watch);

}  // namespace cordon
