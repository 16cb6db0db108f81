// ObjectDialogue: asks `git cat-file --batch`, which runs in a sandbox, for one object after the
// other. Git's side of it is untrusted: it reads what a run may have written. Every length it names
// is bounded before anything is kept, and after the first answer that is none nothing is asked any
// more.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "run/line.h"

namespace cordon {

// Git as Cordon runs it for itself: always in a sandbox, since it reads what a run may have
// written. Nothing that it is told by settings, hooks, attributes, replacements or grafts is heard,
// nothing is fetched, and it can write nowhere. What it answers is untrusted.

// A run under the strict preset that sees the system and `readable`, bounded by `outer`'s ceilings;
// argv, streams and limits are the caller's to set.
RunInput own_git_input(const RunInput& outer, const std::string& readable);

// Why there is no answer; empty: there is one.
std::string failure_of_git(const Report& report);

class ObjectDialogue {
 public:
  // Runs git on `directory`, and `talk` beside it in a thread of its own, until both are over. The
  // text says why there was no talk, or why it was cut off; empty: neither.
  std::string run(const RunInput& outer, const Caller& caller, const std::string& directory,
                  const std::function<void()>& talk);

  // Of earlier runs that were killed: whoever starts the next run cleans up after them.
  [[nodiscard]] std::vector<Quarantined> take_recovered() { return std::move(recovered_); }

  // Within `talk`: the content of an object of that type; nothing if there is none, or if it is
  // larger than `limit`, which ends the dialogue.
  std::optional<std::string> ask(const std::string& id, std::string_view type, std::size_t limit);

 private:
  void hear(OutputFrom from, std::string_view bytes);
  bool send(std::string_view text);
  // Waits for more. False when there is no more.
  bool wait(std::unique_lock<std::mutex>& lock, std::size_t bytes);
  void end();

  Fd to_git_;
  std::vector<Quarantined> recovered_;
  bool broken_ = false;  // of the talking thread alone
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::string buffer_;
  bool over_ = false;
};

}  // namespace cordon
