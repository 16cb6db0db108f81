#include "compat/engine/runtime_mounts.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "base/path.h"
#include "base/text.h"
#include "config/node.h"

namespace cordon::engine {
namespace {

struct ShownMount {
  std::string id;
  std::string parent;
  std::string device;
  std::string root;  // what of that file system is shown
  std::string point;
  bool bindable = true;
};

struct BoundPlace {
  std::string point;
  std::string source;
};

struct AskedMounts {
  std::string root;  // on the host
  std::set<std::string> points;
  std::vector<BoundPlace> bound;
};

// Blanks, line ends and backslashes of a name are written as three octal digits.
std::string unescaped(std::string_view text) {
  constexpr std::size_t kDigits = 3;
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view digits = text.substr(i + 1, kDigits);
    const bool escaped = text[i] == '\\' && digits.size() == kDigits &&
                         std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '7'; });
    if (!escaped) {
      name += text[i];
      continue;
    }
    name += static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + (digits[2] - '0'));
    i += kDigits;
  }
  return name;
}

// One line each: `ID PARENT DEVICE ROOT POINT OPTIONS …`.
std::vector<ShownMount> mounts_of(std::string_view mountinfo) {
  constexpr std::size_t kPoint = 4;
  std::vector<ShownMount> found;
  for (const std::string_view line : split(mountinfo, '\n')) {
    const std::vector<std::string_view> fields = split(line, ' ');
    if (fields.size() <= kPoint) continue;
    // A bind leaves out the first kind, and the second where it holds mounts themselves.
    const bool bindable = line.find(" unbindable ") == std::string_view::npos &&
                          line.find(" - nsfs ") == std::string_view::npos;
    found.push_back({std::string(fields[0]), std::string(fields[1]), std::string(fields[2]),
                     unescaped(fields[3]), unescaped(fields[kPoint]), bindable});
  }
  return found;
}

void add_paths(const Node* list, std::set<std::string>& points) {
  if (list == nullptr || list->list() == nullptr) return;
  for (const Node& one : *list->list()) {
    if (one.text() != nullptr) points.insert(*one.text());
  }
}

std::optional<AskedMounts> asked_mounts(std::string_view document, const std::string& bundle) {
  // Devices that a runtime binds in every user namespace.
  AskedMounts asked{
      join(bundle, "rootfs"),
      {"/", "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"},
      {}};
  // Written by this program: as long as it has to be.
  const auto node = read_json_message(document, {document.size(), document.size()});
  const Node* const mounts = node ? node->find("mounts") : nullptr;
  const Node* const linux_part = node ? node->find("linux") : nullptr;
  if (mounts == nullptr || mounts->list() == nullptr || linux_part == nullptr) return std::nullopt;
  for (const Node& mount : *mounts->list()) {
    const Node* const point = mount.find("destination");
    const Node* const type = mount.find("type");
    const Node* const source = mount.find("source");
    if (point == nullptr || type == nullptr || source == nullptr) return std::nullopt;
    asked.points.insert(*point->text());
    if (*type->text() != "bind") continue;
    const std::string& name = *source->text();
    asked.bound.push_back({*point->text(), name.starts_with('/') ? name : join(bundle, name)});
  }
  add_paths(linux_part->find("maskedPaths"), asked.points);
  add_paths(linux_part->find("readonlyPaths"), asked.points);
  return asked;
}

const BoundPlace* nearest_bind(const AskedMounts& asked, const std::string& point) {
  const BoundPlace* nearest = nullptr;
  for (const BoundPlace& place : asked.bound) {
    if (!contains(place.point, point)) continue;
    if (nearest == nullptr || place.point.size() > nearest->point.size()) nearest = &place;
  }
  return nearest;
}

// What is bound is bound with what the host has mounted below it.
bool comes_with_a_bind(const ShownMount& mount, const AskedMounts& asked,
                       const std::vector<ShownMount>& of_host) {
  // The root that a runtime makes a mount of, and begins to fill, before it binds what holds it.
  // Cordon's state, in which it lies, is masked.
  if (contains(asked.root, mount.point)) return true;
  const BoundPlace* const nearest = nearest_bind(asked, mount.point);
  if (nearest == nullptr) return false;
  const std::string there = join(nearest->source, mount.point.substr(nearest->point.size()));
  return std::ranges::any_of(of_host, [&](const ShownMount& one) {
    return one.point == there && one.device == mount.device && one.root == mount.root;
  });
}

// False if it cannot be reached: something was mounted above it since, or above its parent, or a
// bind leaves one of them out.
bool is_reached(const ShownMount& mount, const std::vector<ShownMount>& all) {
  const bool covered = std::ranges::any_of(all, [&](const ShownMount& one) {
    return one.id != mount.id && one.parent == mount.parent && one.point != mount.point &&
           contains(one.point, mount.point);
  });
  if (covered || !mount.bindable) return false;
  const auto above = std::ranges::find(all, mount.parent, &ShownMount::id);
  return above == all.end() || above->id == mount.id || is_reached(*above, all);
}

// Where a mount of the host is to be seen, if it is to be.
std::optional<std::string> place_inside(const ShownMount& mount, const BoundPlace& place,
                                        const AskedMounts& asked) {
  if (mount.point == place.source || !contains(place.source, mount.point)) return std::nullopt;
  const std::string point = join(place.point, mount.point.substr(place.source.size()));
  const bool other = std::ranges::any_of(asked.points, [&](const std::string& one) {
    return one.size() > place.point.size() && contains(one, point);
  });
  if (other) return std::nullopt;
  return point;
}

}  // namespace

std::optional<std::string> missing_mount(std::string_view document, const std::string& bundle,
                                         std::string_view mounted, std::string_view of_host) {
  const auto asked = asked_mounts(document, bundle);
  if (!asked) return "/";
  std::set<std::string> shown;
  for (const ShownMount& mount : mounts_of(mounted)) shown.insert(mount.point);
  const std::vector<ShownMount> outside = mounts_of(of_host);
  for (const ShownMount& mount : outside) {
    for (const BoundPlace& place : asked->bound) {
      const auto point = place_inside(mount, place, *asked);
      if (point && !shown.contains(*point) && is_reached(mount, outside)) return point;
    }
  }
  return std::nullopt;
}

std::optional<std::string> unasked_mount(std::string_view document, const std::string& bundle,
                                         std::string_view mounted, std::string_view of_host) {
  const auto asked = asked_mounts(document, bundle);
  const std::vector<ShownMount> shown = mounts_of(mounted);
  const std::vector<ShownMount> outside = mounts_of(of_host);
  if (!asked || shown.empty() || outside.empty()) return "/";
  for (const ShownMount& mount : shown) {
    if (asked->points.contains(mount.point) || comes_with_a_bind(mount, *asked, outside)) continue;
    return mount.point;
  }
  return std::nullopt;
}

}  // namespace cordon::engine
