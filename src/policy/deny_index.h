// DenyIndex: which of many denies names a path, without asking each. The verdicts are those of
// deny_matches, in the order of the list: the index only leaves out what cannot match.
//
// A deny is found by its last component, which every path that it names ends in:
//
//   *.pem        by the suffix ".pem"           any depth
//   .env*        by the prefix ".env"           any depth
//   /p/keys      by the whole path
//   /p/**/a.key  by the name "a.key", in the group of its anchor /p
//   /p/**        by nothing: asked always, in the group of its anchor
//
// Prefixes and suffixes are looked up once for each length that occurs, so the price of a look-up
// grows with the number of different lengths and of components in the path, not with the number of
// denies. Patterns with wildcards in the middle of a last component are asked one by one.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "policy/effective.h"

namespace cordon {

// Refers to the denies it was made of.
class DenyIndex {
 public:
  explicit DenyIndex(std::span<const DenyGlob> denies);

  // The first deny that names exactly `path` (canonical); null if none does.
  [[nodiscard]] const DenyGlob* find(std::string_view path) const;
  // Of those without an anchor alone, by the last component.
  [[nodiscard]] const DenyGlob* find_any_depth(std::string_view name) const;
  // Of those with an anchor alone.
  [[nodiscard]] const DenyGlob* find_anchored(std::string_view path) const;
  // The first that names `path`, or a directory above it; the latter not of those that were written
  // as a name alone, which is looked for below a grant.
  [[nodiscard]] const DenyGlob* find_with_parents(std::string_view path) const;
  // Whether something below `path` could be denied.
  [[nodiscard]] bool may_deny_below(std::string_view path) const;
  // The same for those with an anchor alone, which go by the path of what they name.
  [[nodiscard]] bool may_deny_by_path_below(std::string_view path) const;

 private:
  // Denies by their last component, as numbers of the list.
  class LastNames {
   public:
    void add(std::string_view pattern, std::size_t number);
    // Calls `ask` with every deny that may name something called `name`.
    void candidates(std::string_view name, const std::function<void(std::size_t)>& ask) const;
    [[nodiscard]] bool empty() const { return count_ == 0; }

   private:
    using Numbers = std::unordered_map<std::string, std::vector<std::size_t>>;
    Numbers names_;
    std::map<std::size_t, Numbers> prefixes_;  // by length
    std::map<std::size_t, Numbers> suffixes_;
    std::vector<std::size_t> others_;
    std::size_t count_ = 0;
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  [[nodiscard]] std::size_t first_any_depth(std::string_view name) const;
  // Of those written with a leading "**/": the whole path counts for them.
  [[nodiscard]] std::size_t first_of_whole_path(std::string_view name) const;
  [[nodiscard]] std::size_t first_anchored(std::string_view path) const;
  [[nodiscard]] const DenyGlob* at(std::size_t number) const {
    return number == kNone ? nullptr : &denies_[number];
  }

  std::span<const DenyGlob> denies_;
  LastNames any_depth_;
  std::unordered_map<std::string, std::size_t> paths_;   // anchors that are denied themselves
  std::unordered_map<std::string, LastNames> anchored_;  // patterns, by their anchor
  std::map<std::string, bool, std::less<>> anchors_;     // all; true: of a pattern
};

// What a deny says about one path. The one reading of a DenyGlob, for the survey that finds masks
// and for decide() that explains them.

// True if `deny` names exactly `path` (canonical); what lies below a denied directory is denied
// with it. An anchored pattern without '/' means an entry directly below the anchor.
bool deny_matches(const DenyGlob& deny, std::string_view path);

}  // namespace cordon
