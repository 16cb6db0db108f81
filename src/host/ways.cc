#include "host/ways.h"

#include <fcntl.h>

#include <deque>
#include <string_view>

#include "base/path.h"

namespace cordon {
namespace {

constexpr int kMostLinks = 40;  // the kernel's own bound

void push_front(std::deque<std::string>& parts, const std::string& path) {
  const std::vector<std::string_view> added = components(path);
  parts.insert(parts.begin(), added.begin(), added.end());
}

}  // namespace

const std::optional<Looked>& Ways::seen(const std::string& place) {
  const auto known = seen_.find(place);
  return known != seen_.end() ? known->second
                              : seen_.emplace(place, look_path(place)).first->second;
}

Way Ways::to(const std::string& path) {
  Way way;
  std::deque<std::string> parts;
  push_front(parts, normalize(path));
  std::string at = "/";
  int links = 0;
  while (!parts.empty()) {
    const std::string part = std::move(parts.front());
    parts.pop_front();
    if (part == "..") {
      at = std::string(parent(at));
      continue;
    }
    const std::string place = join(at, part);
    const std::optional<Looked>& here = seen(place);
    if (!here) {
      way.missing = place;
      return way;
    }
    way.passed.push_back(place);
    if (!here->symlink) {
      at = place;
      continue;
    }
    const auto target = read_link(AT_FDCWD, place);
    if (!target || target->empty() || ++links > kMostLinks) return way;
    if (target->front() == '/') at = "/";
    push_front(parts, normalize("/" + *target));
  }
  way.end = at;
  return way;
}

}  // namespace cordon
