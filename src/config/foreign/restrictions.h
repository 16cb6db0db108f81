// What a source withholds and its target cannot. Each such restriction is given up by name or stops
// the conversion, and the error names all of them at once.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "config/foreign/foreign.h"

namespace cordon {

class Restrictions {
 public:
  explicit Restrictions(std::span<const std::string> dropped) : dropped_(dropped) {}

  // The target cannot say `key`, for this reason.
  void give_up(const std::string& key, std::string reason);
  // The losses of what was given up; an error for what was not, or for a name that stood for
  // nothing.
  Result<std::vector<DroppedKey>> settle(Dialect dialect) const;

 private:
  std::span<const std::string> dropped_;
  std::vector<DroppedKey> given_up_;
  std::vector<DroppedKey> kept_;
  std::set<std::string> used_;
};

}  // namespace cordon
