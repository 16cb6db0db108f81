// Ways: what lookups pass on their way to a path.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/look.h"

namespace cordon {

struct Way {
  // Every directory and symlink that is passed, by the name it has without symlinks, the end
  // included; as far as it exists. Ends where a loop of links would.
  std::vector<std::string> passed;
  std::string missing;  // the first place that is not there; empty: all are
  // Where the way leads. Empty: nowhere, for a place is missing, cannot be looked at, or links
  // loop.
  std::string end;
};

// Looks at each place once, however many ways lead through it.
class Ways {
 public:
  Way to(const std::string& path);
  const std::optional<Looked>& seen(const std::string& place);

 private:
  std::map<std::string, std::optional<Looked>> seen_;
};

}  // namespace cordon
