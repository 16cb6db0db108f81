// Change: what a run changed and did not write for good.
#pragma once

#include <string>
#include <string_view>

namespace cordon {

// One path that a run changed in another way than by writing it for good: it was held back, has
// gone with the run, or could be let through. What was only written is no Change.
struct Change {
  // What was done to the path.
  enum class Kind { Added, Modified, Deleted, Mode, Type };
  // What has become of it.
  enum class State {
    Applied,    // it is on the host
    Held,       // kept aside: `cordon changes apply` takes it
    Conflict,   // kept aside, and the host's file has changed since
    Lost,       // gone with the private place it was written to
    Discarded,  // dropped by `cordon changes discard`
  };
  std::string path;              // as seen from where the command was started
  Kind change = Kind::Modified;  // what was done
  State state = State::Held;     // what has become of it
  std::string reason;            // why it was not written for good
  std::string top;  // the protected object it belongs to: `.vscode` of `.vscode/settings.json`
  bool operator==(const Change&) const = default;
};

// "modified"
std::string_view name_of(Change::Kind kind);
// "held"
std::string_view name_of(Change::State state);

}  // namespace cordon
