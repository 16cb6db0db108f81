// PathWatch: which paths a command asked for that its policy does not give it (`cordon run --why`).
// Inside, what is not granted is not there, so that neither the command nor the kernel can tell it
// from what is nowhere.
//
// The filter shows the supervisor every call that takes a path (sys/path_calls.h). Each is looked
// at and then carried out by the kernel, whatever is found: the layers decide, and this only tells.
// What is read of a call may have changed by the time the kernel reads it again, so a path that is
// told of here is one that the command named, and not proof of one that it reached.
//
// A path is followed as the kernel would, in the caller's own root: a link of the project that
// leads to a hidden place names that place.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "egress/waiting_call.h"
#include "policy/decide.h"
#include "sys/path_calls.h"

namespace cordon {

// A path as it is inside, with no link on the way as far as it leads anywhere.
struct WatchedPath {
  Access access = Access::Read;
  std::string path;
  bool there = false;   // something is at that path inside
  bool place = false;   // the directory is there that it is in, or would be made in
  bool looked = false;  // whether it is there, and what it is, was asked and no more
  // Of a write: what changes is the directory it is in, where the name is made, replaced or
  // removed.
  bool of_name = false;
  bool anew = false;  // of such a one: it fails everywhere if the name is there
};

// One that was refused, and how often it was asked for.
struct RefusedPath {
  Access access = Access::Read;
  std::string path;
  std::uint64_t count = 0;
  bool only_looked = false;  // whether it is there, and never more
  bool of_name = false;      // as WatchedPath has it
  bool anew = false;
};

// Thread-safe.
class PathWatch {
 public:
  // True if the policy does not give it. Called from several threads.
  using Refuses = std::function<bool(const WatchedPath&)>;
  // Without it nothing is watched.
  explicit PathWatch(Refuses refuses) : refuses_(std::move(refuses)) {}

  [[nodiscard]] bool handles(int call) const {
    return refuses_ && sys::find_path_call(call) != nullptr;
  }
  // The call is left waiting.
  void note(WaitingCall& call);

  // In the order in which they were first asked for.
  [[nodiscard]] std::vector<RefusedPath> refused() const;
  // Accesses to further paths, which there was no room for.
  [[nodiscard]] std::uint64_t untold() const;

 private:
  void note(WaitingCall& call, const sys::PathCall& known, const sys::PathArgument& argument);
  [[nodiscard]] int root_of(const WaitingCall& call);
  void add(const WatchedPath& asked);

  const Refuses refuses_;
  mutable std::mutex mutex_;
  Fd root_;  // of all processes of the sandbox: none can have another
  std::vector<RefusedPath> refused_;
  std::map<std::pair<Access, std::string>, std::size_t> places_;  // in refused_
  std::uint64_t untold_ = 0;
};

}  // namespace cordon
