#include "host/grant_paths.h"

#include <algorithm>

#include "base/path.h"

namespace cordon {
namespace {

std::size_t longest(const std::vector<Grant>& grants, std::string_view path) {
  std::size_t length = 0;
  for (const Grant& grant : grants)
    if (contains(grant.path, path)) length = std::max(length, grant.path.size());
  return length;
}

bool any_inside(const std::vector<Grant>& grants, std::string_view path) {
  return std::any_of(grants.begin(), grants.end(),
                     [&](const Grant& grant) { return contains(path, grant.path); });
}

bool lies_in_another(const Grant& grant, const std::vector<Grant>& grants) {
  return std::any_of(grants.begin(), grants.end(), [&](const Grant& other) {
    return other.path != grant.path && contains(other.path, grant.path);
  });
}

}  // namespace

bool GrantPaths::is_granted(std::string_view path) const {
  return longest(effective_.read, path) > 0 || longest(effective_.write, path) > 0;
}

bool GrantPaths::is_writable(std::string_view path) const {
  return longest(effective_.write, path) > longest(effective_.read, path);
}

bool GrantPaths::in_writable_root(std::string_view path) const {
  return longest(effective_.write, path) > 0;
}

bool GrantPaths::is_grant(std::string_view path) const {
  const auto same = [&](const Grant& grant) { return grant.path == path; };
  return std::any_of(effective_.read.begin(), effective_.read.end(), same) ||
         std::any_of(effective_.write.begin(), effective_.write.end(), same);
}

bool GrantPaths::covers_grant(std::string_view path) const {
  return any_inside(effective_.read, path) || any_inside(effective_.write, path);
}

std::vector<const Grant*> GrantPaths::writable_roots() const {
  std::vector<const Grant*> roots;
  for (const Grant& grant : effective_.write)
    if (!lies_in_another(grant, effective_.write)) roots.push_back(&grant);
  return roots;
}

std::vector<const Grant*> GrantPaths::readable_roots() const {
  std::vector<const Grant*> roots;
  for (const Grant& grant : effective_.read)
    if (!lies_in_another(grant, effective_.read) && longest(effective_.write, grant.path) == 0)
      roots.push_back(&grant);
  return roots;
}

}  // namespace cordon
