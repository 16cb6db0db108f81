// What a run keeps of protected files that its mechanism cannot hold: when, and where.
#pragma once

#include <optional>
#include <string>

#include "host/kept_files.h"
#include "run/line.h"

namespace cordon {

// True if the plan says that protected files can be changed while the command runs.
bool keeps(const Plan& plan);
// Where this run keeps them. The note of the run names it before anything is written there.
std::string kept_directory(const Caller& caller, const std::string& run_id);
// Before the launch and after the note. Nothing if the plan keeps nothing.
Result<std::optional<KeptFiles>> keep_for(const JudgedRun& run, const std::string& run_id);
// Being the same file proves nothing for a file that nothing held: takes them out of what the
// search after the run believes.
void forget_kept(const Keeping& keeping, const HostFacts& facts, TreeSnapshot& snapshot);

// Drops what was kept for a command that was never started.
class KeptUnlessStarted {
 public:
  explicit KeptUnlessStarted(std::optional<KeptFiles>& kept) : kept_(kept ? &*kept : nullptr) {}
  ~KeptUnlessStarted() {
    if (kept_ != nullptr) kept_->discard();
  }
  KeptUnlessStarted(const KeptUnlessStarted&) = delete;
  KeptUnlessStarted& operator=(const KeptUnlessStarted&) = delete;
  void started() { kept_ = nullptr; }

 private:
  KeptFiles* kept_;
};

}  // namespace cordon
