#include "policy/shield.h"

#include <algorithm>

#include "base/path.h"
#include "base/text.h"
#include "policy/deny_match.h"

namespace cordon {
namespace {

// A deny with a '/' means the same whatever grant a path lies in; one without means names inside
// the grants, and so depends on where a grant begins.
bool is_denied(const ResolvedCeiling& ceiling, std::string_view path) {
  return std::any_of(ceiling.deny.begin(), ceiling.deny.end(), [&](const DenyGlob& deny) {
    return deny.anchor.empty() && deny_matches(deny, path);
  });
}

bool is_protected(const HeldPlaces& places, std::string_view path, Grant::Source asked) {
  if (std::find(places.on_path.begin(), places.on_path.end(), path) != places.on_path.end()) {
    return true;
  }
  // The git directory of a linked worktree is asked for by Cordon itself, and arranged as one.
  const bool arranged = asked == Grant::Source::GitDirectory;
  if (!arranged && (lower_case(basename(path)) == ".git" || is_in_git_part(path, places)))
    return true;
  const ProtectedName* name = held_name(path, places);
  return name != nullptr && !(arranged && name->kind == HoldKind::Git);
}

}  // namespace

const ProtectedName* held_name(std::string_view path, const HeldPlaces& places) {
  const std::string_view directory = parent(path);
  const std::string_view above = basename(directory);
  const ProtectedName* name = find_protected(above, basename(path), places.protect);
  if (name == nullptr)
    name = find_protected(lower_case(above), lower_case(basename(path)), places.protect);
  return name != nullptr && is_held_in(*name, directory, places.homes) ? name : nullptr;
}

const ProtectedName* held_place(std::string_view path, const HeldPlaces& places) {
  for (std::string_view at = path; at != "/"; at = parent(at)) {
    // Claude Code keeps working trees here, each a project of its own.
    if (parent(at).ends_with("/.claude/worktrees")) return nullptr;
    const ProtectedName* name = held_name(at, places);
    if (name != nullptr && (at == path || name->kind != HoldKind::Path)) return name;
  }
  return nullptr;
}

bool is_in_agent_directory(std::string_view path, const HeldPlaces& places) {
  for (; path != "/"; path = parent(path)) {
    const auto home = std::ranges::find(places.homes, parent(path));
    if (home == places.homes.end()) continue;
    const ProtectedName* name = held_name(path, places);
    if (name != nullptr && name->kind == HoldKind::Agent) return true;
  }
  return false;
}

bool is_in_git_part(std::string_view path, const HeldPlaces& places) {
  std::string_view innermost;
  for (const std::string& directory : places.git)
    if (contains(directory, path) && directory.size() > innermost.size()) innermost = directory;
  if (innermost.empty() || innermost == path) return false;
  const std::string_view below = path.substr(innermost.size() + 1);
  return is_git_name(below.substr(0, below.find('/')));
}

Shield shield_below(const ResolvedCeiling& ceiling, std::string_view root, std::string_view path,
                    Grant::Source asked) {
  Shield shield = Shield::None;
  for (; path != root && path != "/"; path = parent(path)) {
    if (is_denied(ceiling, path)) return Shield::Denied;
    if (is_protected(ceiling.held, path, asked)) shield = Shield::Protected;
  }
  return shield;
}

Shield shield_of(const ResolvedCeiling& ceiling, std::string_view path) {
  const PathModes modes(ceiling.read, ceiling.write);
  const PathEntry* rule = modes.deepest(path);
  if (rule == nullptr) return Shield::None;
  return shield_below(ceiling, rule->grant->path, path, Grant::Source::Policy);
}

PathMode bound_of(Shield shield) {
  switch (shield) {
    case Shield::None:
      return PathMode::Write;
    case Shield::Protected:
      return PathMode::Read;
    case Shield::Denied:
      return PathMode::None;
  }
  return PathMode::None;
}

}  // namespace cordon
