// StagedRenames: tells of renames that a stage cannot carry out. The kernel answers EXDEV to the
// rename of a directory that the project had before: an overlay that is mounted without privileges
// keeps no record of where a directory came from. mv and others copy instead; programs that do not
// only say "Invalid cross-device link".
//
// Every rename of a staged run is seen here and carried out by the kernel, whatever is found: what
// is read of the call may have changed by then, so that nothing depends on it but what is told.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cordon/outcome.h"
#include "egress/waiting_call.h"

namespace cordon {

// The directories that are staged, and the layer of each.
struct StagedPlace {
  std::string path;  // canonical, of the host and inside
  std::string upper;
};

// Thread-safe.
class StagedRenames {
 public:
  using Tell = std::function<void(const Denial& first)>;
  StagedRenames(std::vector<StagedPlace> places, Tell tell)
      : places_(std::move(places)), tell_(std::move(tell)) {}

  static bool handles(int call);
  void pass(WaitingCall& call);
  [[nodiscard]] std::vector<Denial> denials() const;

 private:
  [[nodiscard]] bool is_refused(const std::string& path) const;
  void note(const std::string& path);

  const std::vector<StagedPlace> places_;
  const Tell tell_;
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> refused_;
  std::uint64_t others_ = 0;
};

}  // namespace cordon
