#include <map>
#include <set>

#include "base/path.h"
#include "policy/clamp.h"
#include "policy/cure.h"
#include "policy/protected_names.h"

namespace cordon::detail {
namespace {

using Because = Reduction::Because;

// The intersection of request and ceilings. A rule can change only at a path one of them names, so
// those paths are all that has to be looked at.
class PathMeet {
 public:
  PathMeet(std::span<const Grant> read, std::span<const Grant> write, const HeldPlaces& held,
           Ceilings ceilings)
      : request_(read, write), read_(read), write_(write), held_(held), originals_(ceilings) {
    for (const ResolvedCeiling& ceiling : ceilings) {
      ceilings_.emplace_back(ceiling.read, ceiling.write);
    }
    for (const auto& [path, entry] : request_.entries()) places_.insert(path);
    for (const PathModes& ceiling : ceilings_) {
      for (const auto& [path, entry] : ceiling.entries()) places_.insert(path);
    }
    for (const std::string_view place : places_) emit(place);
  }

  void write_to(Effective& result) const;
  void report(std::span<const Grant> read, std::span<const Grant> write,
              Reductions& reductions) const;

 private:
  struct Granted {
    Grant grant;
    PathMode mode;
  };

  [[nodiscard]] PathMode permitted(std::string_view path) const {
    PathMode mode = PathMode::Write;
    for (const PathModes& ceiling : ceilings_) mode = std::min(mode, ceiling.at(path));
    return mode;
  }
  [[nodiscard]] PathMode meet(std::string_view path) const {
    return std::min(request_.at(path), permitted(path));
  }
  [[nodiscard]] PathMode protection_bound(std::string_view path) const;
  [[nodiscard]] Origin origin(std::string_view path, PathMode mode) const;
  [[nodiscard]] PathMode inherited(std::string_view path) const;
  [[nodiscard]] Grant piece(std::string_view path) const;
  [[nodiscard]] bool only_a_symlink_is_inside(const Grant& grant, PathMode mode) const;
  [[nodiscard]] std::vector<std::string_view> parts_below(std::string_view path,
                                                          PathMode mode) const;
  [[nodiscard]] std::vector<std::string_view> holes_below(std::string_view path) const;
  void emit(std::string_view place);
  void report_one(const Grant& grant, PathMode mode, Reductions& reductions) const;
  void report_baseline(Grant::Source source, std::span<const Grant> read,
                       Reductions& reductions) const;

  PathModes request_;
  std::span<const Grant> read_;
  std::span<const Grant> write_;
  const HeldPlaces& held_;
  Ceilings originals_;
  std::vector<PathModes> ceilings_;
  std::set<std::string_view> places_;
  std::map<std::string_view, Granted> granted_;
};

// Of several rules for one path only one counts; that an option is among them does in any case.
Origin PathMeet::origin(std::string_view path, PathMode mode) const {
  const auto by_option = [&](const Grant& grant) {
    return grant.path == path && grant.origin == Origin::Option;
  };
  const bool found = std::ranges::any_of(mode == PathMode::Write ? write_ : read_, by_option);
  return found ? Origin::Option : Origin::Document;
}

// What the result says above `path`, from what was emitted so far.
PathMode PathMeet::inherited(std::string_view path) const {
  while (path != "/") {
    path = parent(path);
    if (const auto found = granted_.find(path); found != granted_.end()) return found->second.mode;
  }
  return PathMode::None;
}

// The part of a request that lies at a ceiling's own path. Spelled canonically: the caller wrote
// something wider, and the ceiling's spelling is the operator's affair.
Grant PathMeet::piece(std::string_view path) const {
  std::optional<Grant> found;
  for (const PathModes& ceiling : ceilings_) {
    const auto entry = ceiling.entries().find(path);
    if (entry == ceiling.entries().end()) continue;
    Grant grant = *entry->second.grant;
    grant.written = path;
    grant.lexical = path;
    grant.source = request_.deepest(path)->grant->source;
    grant.origin = Origin::Document;
    if (!found || grant < *found) found = std::move(grant);
  }
  return *found;
}

// The most that a grant which begins at `path` may be. A protected name is never opened by a grant
// of its own, and what a ceiling's grant holds is not reached by a request for what is below.
PathMode PathMeet::protection_bound(std::string_view path) const {
  PathMode most = PathMode::Write;
  const PathEntry* asked = request_.deepest(path);
  const auto source = asked != nullptr ? asked->grant->source : Grant::Source::Policy;
  if (const ProtectedName* name = held_place(path, held_);
      name != nullptr && !(source == Grant::Source::GitDirectory && name->kind == HoldKind::Git)) {
    most = PathMode::Read;
  }
  if (is_in_agent_directory(path, held_)) most = PathMode::Read;
  const bool arranged = source == Grant::Source::GitDirectory;
  if (!arranged && is_in_git_part(path, held_)) most = PathMode::Read;
  for (std::size_t i = 0; i < ceilings_.size(); ++i) {
    if (!arranged && is_in_git_part(path, originals_[i].held))
      most = std::min(most, PathMode::Read);
    const PathEntry* rule = ceilings_[i].deepest(path);
    if (rule == nullptr) continue;
    most = std::min(
        most, bound_of(protection_bound_below(originals_[i], rule->grant->path, path, source)));
  }
  return most;
}

void PathMeet::emit(std::string_view place) {
  PathMode mode = meet(place);
  const PathMode most = protection_bound(place);
  if (most < mode) {
    // Covered by a grant that begins above, it is held or masked there.
    const bool covered = inherited(place) != PathMode::None;
    if (covered && most == PathMode::Read) return;
    if (!covered) mode = most;
  }
  if (mode == PathMode::None) return;
  const auto asked = request_.entries().find(place);
  if (asked != request_.entries().end()) {
    Granted granted{*asked->second.grant, mode};
    granted.grant.origin = origin(place, asked->second.mode);
    granted_.try_emplace(place, std::move(granted));
  } else if (mode != inherited(place)) {
    granted_.try_emplace(place, Granted{piece(place), mode});
  }
}

void PathMeet::write_to(Effective& result) const {
  for (const auto& [path, granted] : granted_) {
    (granted.mode == PathMode::Write ? result.write : result.read).push_back(granted.grant);
  }
}

std::string list_of(const std::vector<std::string_view>& paths) {
  std::string text;
  for (const std::string_view path : paths) text.append(text.empty() ? "" : ", ").append(path);
  return text;
}

// The largest parts below `path` that still have `mode`.
std::vector<std::string_view> PathMeet::parts_below(std::string_view path, PathMode mode) const {
  std::vector<std::string_view> parts;
  for (const std::string_view place : places_) {
    if (place == path || !contains(path, place) || meet(place) < mode) continue;
    if (!parts.empty() && contains(parts.back(), place)) continue;
    parts.push_back(place);
  }
  return parts;
}

// Places below a kept write rule where a ceiling only lets the request read.
std::vector<std::string_view> PathMeet::holes_below(std::string_view path) const {
  std::vector<std::string_view> holes;
  for (const std::string_view place : places_) {
    if (place == path || !contains(path, place) || permitted(place) == PathMode::Write) continue;
    if (request_.deepest(place)->grant->path != path) continue;
    if (!holes.empty() && contains(holes.back(), place)) continue;
    holes.push_back(place);
  }
  return holes;
}

// The name the caller used is inside every ceiling, the object it leads to is not.
bool PathMeet::only_a_symlink_is_inside(const Grant& grant, PathMode mode) const {
  if (grant.lexical == grant.path || grant.lexical.empty()) return false;
  for (std::size_t i = 0; i < ceilings_.size(); ++i) {
    if (ceilings_[i].at(grant.lexical) >= mode) continue;
    const auto names_it = [&](const Grant& rule) { return contains(rule.lexical, grant.lexical); };
    const auto& write = originals_[i].write;
    const auto& read = originals_[i].read;
    const bool named = std::any_of(write.begin(), write.end(), names_it) ||
                       (mode == PathMode::Read && std::any_of(read.begin(), read.end(), names_it));
    if (!named) return false;
  }
  return true;
}

void PathMeet::report_one(const Grant& grant, PathMode mode, Reductions& reductions) const {
  const std::string what = mode == PathMode::Write ? "write" : "read";
  const std::string& asked = grant.written.empty() ? grant.path : grant.written;
  const PathMode most = protection_bound(grant.path);
  const Origin by = origin(grant.path, mode);
  if (permitted(grant.path) >= mode && most < mode) {
    std::optional<std::string> kept;
    if (most == PathMode::Read) kept = "read-only";
    reductions.push_back({what, asked, std::move(kept), Because::Forbidden, by});
    return;
  }
  if (permitted(grant.path) >= mode) {
    const auto holes =
        mode == PathMode::Write ? holes_below(grant.path) : std::vector<std::string_view>{};
    if (holes.empty()) return;
    reductions.push_back(
        {what, asked, grant.path + " without " + list_of(holes), Because::Narrowed, by});
    return;
  }
  if (const auto parts = parts_below(grant.path, mode); !parts.empty()) {
    reductions.push_back({what, asked, list_of(parts), Because::Narrowed, by});
    return;
  }
  const Because because =
      only_a_symlink_is_inside(grant, mode) ? Because::SymlinkEscape : Because::OutsideCeiling;
  reductions.push_back({what, asked, std::nullopt, because, by});
}

std::string_view group_name(Grant::Source source) {
  if (source == Grant::Source::System) return "@system";
  return source == Grant::Source::Cache ? "@caches" : "@toolchains";
}

// One line for a whole group: a person wrote "@toolchains", not the dozen paths it stands for.
void PathMeet::report_baseline(Grant::Source source, std::span<const Grant> read,
                               Reductions& reductions) const {
  std::size_t asked = 0;
  std::size_t whole = 0;
  std::size_t some = 0;
  Origin by = Origin::Document;
  for (const Grant& grant : read) {
    if (grant.source == source && grant.origin == Origin::Option) by = Origin::Option;
    const auto entry = request_.entries().find(grant.path);
    if (grant.source != source || entry == request_.entries().end() ||
        entry->second.grant != &grant) {
      continue;
    }
    ++asked;
    const bool kept = permitted(grant.path) >= PathMode::Read;
    if (kept) ++whole;
    if (kept || !parts_below(grant.path, PathMode::Read).empty()) ++some;
  }
  if (whole == asked) return;
  const std::string name(group_name(source));
  if (some == 0) {
    reductions.push_back({"read", name, std::nullopt, Because::OutsideCeiling, by});
    return;
  }
  reductions.push_back({"read", name,
                        std::to_string(some) + " of " + std::to_string(asked) + " paths",
                        Because::Narrowed, by});
}

void PathMeet::report(std::span<const Grant> read, std::span<const Grant> write,
                      Reductions& reductions) const {
  // A repository that another rule covers is not there; one that is stands for itself.
  const auto counts = [&](const Grant& grant) {
    const auto entry = request_.entries().find(grant.path);
    return entry != request_.entries().end() && entry->second.grant == &grant;
  };
  const auto is_group = [](const Grant& grant) {
    return is_baseline(grant) && grant.source != Grant::Source::Repository;
  };
  report_baseline(Grant::Source::System, read, reductions);
  report_baseline(Grant::Source::Toolchain, read, reductions);
  report_baseline(Grant::Source::Cache, read, reductions);
  for (const Grant& grant : read) {
    if (!is_group(grant) && counts(grant)) report_one(grant, PathMode::Read, reductions);
  }
  for (const Grant& grant : write) {
    if (counts(grant)) report_one(grant, PathMode::Write, reductions);
  }
  for (const Grant* grant : request_.conflicts()) {
    reductions.push_back({"write", grant->written.empty() ? grant->path : grant->written,
                          "read-only", Because::Narrowed, origin(grant->path, PathMode::Write)});
  }
}

}  // namespace

void clamp_paths(const Resolved& request, Ceilings ceilings, Effective& result,
                 Reductions& reductions) {
  std::vector<Grant> write;
  for (const Grant& grant : request.write) {
    if (grant.path == "/") {
      reductions.push_back({"write", grant.written.empty() ? grant.path : grant.written,
                            std::nullopt, Because::Forbidden, grant.origin});
    } else {
      write.push_back(grant);
    }
  }
  HeldPlaces held = request.held;
  held.protect = result.protect;
  const PathMeet meet(request.read, write, held, ceilings);
  meet.write_to(result);
  meet.report(request.read, write, reductions);
}

}  // namespace cordon::detail
