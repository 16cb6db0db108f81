// Change: what a run changed and did not write for good.
#pragma once

#include <string>
#include <string_view>

namespace cordon {

// One path that a run changed in another way than by writing it for good: it was held back, has
// gone with the run, or could be let through. What was only written is no Change.
struct Change {
  enum class Kind { Added, Modified, Deleted, Mode, Type };
  enum class State {
    Applied,    // it is on the host
    Held,       // kept aside: `cordon changes apply` takes it
    Conflict,   // kept aside, and the host's file has changed since
    Lost,       // gone with the private place it was written to
    Discarded,  // dropped by `cordon changes discard`
  };
  std::string path;
  Kind change = Kind::Modified;
  State state = State::Held;
  std::string reason;
  std::string top;  // the protected object it belongs to: `.vscode` of `.vscode/settings.json`
  bool operator==(const Change&) const = default;
};

std::string_view name_of(Change::Kind kind);
std::string_view name_of(Change::State state);

}  // namespace cordon
