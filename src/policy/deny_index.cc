#include "policy/deny_index.h"

#include <algorithm>

#include "base/path.h"

namespace cordon {

void DenyIndex::LastNames::add(std::string_view pattern, std::size_t number) {
  ++count_;
  const std::string_view last = pattern.substr(pattern.rfind('/') + 1);
  if (!is_glob(last)) {
    names_[std::string(last)].push_back(number);
  } else if (last.size() > 1 && last.front() == '*' && !is_glob(last.substr(1))) {
    suffixes_[last.size() - 1][std::string(last.substr(1))].push_back(number);
  } else if (last.size() > 1 && last.back() == '*' && !is_glob(last.substr(0, last.size() - 1))) {
    prefixes_[last.size() - 1][std::string(last.substr(0, last.size() - 1))].push_back(number);
  } else {
    others_.push_back(number);
  }
}

void DenyIndex::LastNames::candidates(std::string_view name,
                                      const std::function<void(std::size_t)>& ask) const {
  if (count_ == 0) return;
  const auto look_up = [&](const Numbers& numbers, std::string_view key) {
    const auto found = numbers.find(std::string(key));
    if (found == numbers.end()) return;
    for (const std::size_t number : found->second) ask(number);
  };
  look_up(names_, name);
  for (const auto& [length, numbers] : prefixes_) {
    if (length > name.size()) break;
    look_up(numbers, name.substr(0, length));
  }
  for (const auto& [length, numbers] : suffixes_) {
    if (length > name.size()) break;
    look_up(numbers, name.substr(name.size() - length));
  }
  for (const std::size_t number : others_) ask(number);
}

DenyIndex::DenyIndex(std::span<const DenyGlob> denies) : denies_(denies) {
  for (std::size_t number = 0; number < denies.size(); ++number) {
    const DenyGlob& deny = denies[number];
    if (deny.anchor.empty()) {
      any_depth_.add(deny.pattern, number);
      continue;
    }
    if (deny.pattern.empty()) {
      paths_.try_emplace(deny.anchor, number);
    } else {
      anchored_[deny.anchor].add(deny.pattern, number);
    }
    anchors_[deny.anchor] |= !deny.pattern.empty();
  }
}

std::size_t DenyIndex::first_any_depth(std::string_view name) const {
  std::size_t first = kNone;
  any_depth_.candidates(name, [&](std::size_t number) {
    if (number < first && deny_matches(denies_[number], name)) first = number;
  });
  return first;
}

std::size_t DenyIndex::first_of_whole_path(std::string_view name) const {
  std::size_t first = kNone;
  any_depth_.candidates(name, [&](std::size_t number) {
    const DenyGlob& deny = denies_[number];
    if (number < first && deny.written.starts_with("**/") && deny_matches(deny, name))
      first = number;
  });
  return first;
}

std::size_t DenyIndex::first_anchored(std::string_view path) const {
  std::size_t first = kNone;
  if (const auto itself = paths_.find(std::string(path)); itself != paths_.end())
    first = itself->second;
  if (anchored_.empty()) return first;
  const std::string_view name = basename(path);
  for (std::string_view up = path; up != "/";) {
    up = parent(up);
    const auto group = anchored_.find(std::string(up));
    if (group == anchored_.end()) continue;
    group->second.candidates(name, [&](std::size_t number) {
      if (number < first && deny_matches(denies_[number], path)) first = number;
    });
  }
  return first;
}

const DenyGlob* DenyIndex::find(std::string_view path) const {
  return at(std::min(first_any_depth(basename(path)), first_anchored(path)));
}

const DenyGlob* DenyIndex::find_any_depth(std::string_view name) const {
  return at(first_any_depth(name));
}

const DenyGlob* DenyIndex::find_anchored(std::string_view path) const {
  return at(first_anchored(path));
}

const DenyGlob* DenyIndex::find_with_parents(std::string_view path) const {
  std::size_t first = first_any_depth(basename(path));
  for (std::string_view up = path;; up = parent(up)) {
    first = std::min(first, first_anchored(up));
    if (up == "/") return at(first);
    first = std::min(first, first_of_whole_path(basename(up)));
  }
}

bool DenyIndex::may_deny_below(std::string_view path) const {
  return !any_depth_.empty() || may_deny_by_path_below(path);
}

bool DenyIndex::may_deny_by_path_below(std::string_view path) const {
  if (anchors_.empty()) return false;
  // A pattern reaches everything below its anchor.
  for (std::string_view up = path;; up = parent(up)) {
    if (anchored_.contains(std::string(up))) return true;
    if (up == "/") break;
  }
  // Otherwise an anchor below: in the order of the names those come right behind "path/".
  const std::string below = path == "/" ? std::string(path) : std::string(path) + "/";
  const auto next = anchors_.lower_bound(below);
  if (next == anchors_.end() || !next->first.starts_with(below)) return false;
  return next->first != path || std::next(next) != anchors_.end();
}

bool deny_matches(const DenyGlob& deny, std::string_view path) {
  if (deny.anchor.empty()) return glob_match(deny.pattern, path);
  if (deny.pattern.empty()) return path == deny.anchor;
  if (path == deny.anchor || !contains(deny.anchor, path)) return false;
  const std::string_view below = path.substr(deny.anchor == "/" ? 1 : deny.anchor.size() + 1);
  const bool one_component = deny.pattern.find('/') == std::string::npos;
  if (one_component && below.find('/') != std::string_view::npos) return false;
  return glob_match(deny.pattern, below);
}

}  // namespace cordon
