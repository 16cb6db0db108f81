// GrantPaths: which paths a run may read and write, asked by canonical path, and the outermost
// directories that have to be walked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/effective.h"

namespace cordon {

// Refers to the grants it was made of.
class GrantPaths {
 public:
  explicit GrantPaths(const Effective& effective) : effective_(effective) {}

  [[nodiscard]] bool is_granted(std::string_view path) const;
  // The longest grant decides, as in the clamp.
  [[nodiscard]] bool is_writable(std::string_view path) const;
  // Also where a read grant makes a hole.
  [[nodiscard]] bool in_writable_root(std::string_view path) const;
  [[nodiscard]] bool is_grant(std::string_view path) const;
  // True if `path` is a grant or lies above one: it can be neither held nor masked as a whole.
  [[nodiscard]] bool covers_grant(std::string_view path) const;

  [[nodiscard]] std::vector<const Grant*> writable_roots() const;
  // Read grants that no writable root contains.
  [[nodiscard]] std::vector<const Grant*> readable_roots() const;

 private:
  const Effective& effective_;
};

}  // namespace cordon
