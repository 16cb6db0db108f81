#include "base/path.h"

#include <algorithm>

#include "base/text.h"

namespace cordon {

bool contains(std::string_view root, std::string_view path) {
  if (root == "/") return path.starts_with('/');
  if (!path.starts_with(root)) return false;
  return path.size() == root.size() || path[root.size()] == '/';
}

std::string_view take_name(std::string_view& rest) {
  const std::size_t begin = std::min(rest.find_first_not_of('/'), rest.size());
  const std::size_t end = std::min(rest.find('/', begin), rest.size());
  const std::string_view name = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return name;
}

std::string normalize(std::string_view absolute) {
  std::string out;
  out.reserve(absolute.size() + 1);
  for (std::string_view name = take_name(absolute); !name.empty(); name = take_name(absolute)) {
    if (name != ".") out.append("/").append(name);
  }
  return out.empty() ? "/" : out;
}

bool has_dotdot(std::string_view path) {
  if (path.find("..") == std::string_view::npos) return false;
  for (std::string_view name = take_name(path); !name.empty(); name = take_name(path)) {
    if (name == "..") return true;
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
  for (std::string_view name = take_name(normal); !name.empty(); name = take_name(normal))
    parts.push_back(name);
  return parts;
}

}  // namespace cordon
