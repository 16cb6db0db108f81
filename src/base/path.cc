#include "base/path.h"

#include <algorithm>

#include "base/text.h"

namespace cordon {

bool contains(std::string_view root, std::string_view path) {
  if (root == "/") return path.starts_with('/');
  if (!path.starts_with(root)) return false;
  return path.size() == root.size() || path[root.size()] == '/';
}

std::string normalize(std::string_view absolute) {
  std::string out;
  out.reserve(absolute.size() + 1);
  for (const std::string_view part : components(absolute)) {
    if (part != ".") out.append("/").append(part);
  }
  return out.empty() ? "/" : out;
}

bool has_dotdot(std::string_view path) {
  for (const std::string_view part : split(path, '/')) {
    if (part == "..") return true;
  }
  return false;
}

std::string join(std::string_view directory, std::string_view name) {
  while (name.starts_with('/')) name.remove_prefix(1);
  std::string out(directory);
  if (name.empty()) return out;
  if (!out.empty() && !out.ends_with('/')) out.push_back('/');
  return out.append(name);
}

std::string_view parent(std::string_view normal) {
  const std::size_t slash = normal.rfind('/');
  return slash == std::string_view::npos || slash == 0 ? "/" : normal.substr(0, slash);
}

std::string_view basename(std::string_view normal) {
  const std::size_t slash = normal.rfind('/');
  return slash == std::string_view::npos ? normal : normal.substr(slash + 1);
}

std::vector<std::string_view> components(std::string_view normal) {
  std::vector<std::string_view> parts;
  while (!normal.empty()) {
    const std::size_t end = std::min(normal.find('/'), normal.size());
    if (end > 0) parts.push_back(normal.substr(0, end));
    normal.remove_prefix(std::min(end + 1, normal.size()));
  }
  return parts;
}

}  // namespace cordon
