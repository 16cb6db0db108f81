#include "changes/stage_judge.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/text.h"
#include "policy/protected_names.h"

namespace cordon {
namespace {

// Only root changes what lies there, and every sandbox shows it: a link to it, as the interpreter
// of a virtual environment is one, leads to nothing that a run could have chosen.
constexpr std::array<std::string_view, 5> kSystem{"/usr", "/bin", "/sbin", "/lib", "/lib64"};

struct GitCure {
  std::string_view reason;
  std::string_view cure;
};
constexpr std::string_view kCommitOutside =
    "commit outside: the work tree is there once it is applied";
constexpr std::array<GitCure, 15> kGitCures{{
    {kGitReason, kCommitOutside},
    {kGitElsewhere, kCommitOutside},
    {kGitBare, kCommitOutside},
    {kGitFormat, kCommitOutside},
    {kGitSettings, "set it yourself, with git config"},
    {kGitHook, "put it there yourself"},
    {kGitStash, "let the run pop or commit it before it ends"},
    {kGitRemote, "git fetch"},
    {kGitOtherRef, "make it yourself, with git tag or git update-ref"},
    {kGitGone, "delete it yourself, with git branch -D or git tag -d"},
    {kGitStaged, "git add it: the work tree is there once it is applied"},
    {kGitUnfinished, "let the run finish it before it ends"},
    {kGitEnded, "end it yourself, with --continue or --abort"},
    {kGitModule, "commit in the submodule outside"},
    {kGitWorktree, "git worktree add it yourself: its branch arrives"},
}};

const GitCure* find_cure(std::string_view reason) {
  const auto* found = std::ranges::find(kGitCures, reason, &GitCure::reason);
  return found == kGitCures.end() ? nullptr : found;
}

bool in_package(std::string_view path, std::string_view root) {
  for (; path != root && path != "/"; path = parent(path)) {
    if (is_package_directory(basename(path))) return true;
  }
  return false;
}

}  // namespace

bool is_never_applied(std::string_view reason) {
  return reason == kSetId || reason == kNoFile || reason == kLeadsOut ||
         reason.find(kToMerge) != std::string_view::npos || find_cure(reason) != nullptr;
}

std::string_view cure_of_unapplied(std::string_view reason) {
  if (reason == kSetId) return "give it the bit yourself, with chmod";
  if (reason == kLeadsOut) return "make the link yourself, with ln -s";
  const GitCure* cure = find_cure(reason);
  return cure != nullptr ? cure->cure : "make it yourself";
}

std::string with_cure(std::string_view reason) {
  if (reason.find(kToMerge) != std::string_view::npos) return std::string(reason);
  return std::string(reason) + "; " + std::string(cure_of_unapplied(reason));
}

StageJudge::StageJudge(const StageRecord& record) : record_(record), denies_(record.deny) {}

StageVerdict StageJudge::judge(std::string_view path, bool replaces) const {
  std::string_view root = "/";
  for (const StagedRoot& one : record_.roots) {
    if (contains(one.path, path) && one.path.size() > root.size()) root = one.path;
  }
  for (const std::string& own : record_.own) {
    if (contains(own, path) || (replaces && contains(path, own))) {
      return {"cordon's own files", std::string(path)};
    }
  }
  for (const StagedHold& hold : record_.holds) {
    if (contains(hold.path, path) || (replaces && contains(path, hold.path))) {
      return {hold.reason, contains(hold.path, path) ? hold.path : std::string(path)};
    }
  }
  // From the outside in: what protects a directory protects everything in it.
  std::vector<std::string_view> places;
  for (std::string_view at = path; at != root && at != "/"; at = parent(at)) places.push_back(at);
  std::ranges::reverse(places);
  for (const std::string_view at : places) {
    // The directory, or a pointer to one: git outside takes its configuration and hooks from there.
    if (lower_case(basename(at)) == ".git") return {std::string(kGitReason), std::string(at)};
    if (denies_.find(at) != nullptr)
      return {std::string(name_of(HoldKind::Denied)), std::string(at)};
    // Claude Code keeps working trees here, each a project of its own.
    if (at == path || !parent(path).ends_with("/.claude/worktrees")) {
      const ProtectedName* name = held_name(at, record_.held);
      const bool packaged =
          name != nullptr && name->kind == HoldKind::Editor && in_package(parent(at), root);
      if (name != nullptr && !packaged && (at == path || name->kind != HoldKind::Path)) {
        return {std::string(name_of(name->kind)), std::string(at)};
      }
    }
  }
  // A directory on PATH holds the programs directly in it.
  for (const std::string& directory : record_.held.on_path) {
    if (path == directory || parent(path) == directory || (replaces && contains(path, directory))) {
      return {std::string(name_of(HoldKind::Path)), std::string(path)};
    }
  }
  if (!replaces) return {};
  // A policy finds what it grants, denies or lists by this way: replaced or gone, the next run
  // would be judged by another one.
  for (const std::string& named : record_.named) {
    if (contains(path, named)) return {"a policy names it", std::string(path)};
  }
  return {};
}

bool StageJudge::leads_out(std::string_view path, std::string_view target) const {
  // ".." behind a name climbs out of wherever that name leads.
  bool climbed = false;
  for (const std::string_view part : split(target, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      climbed = true;
    } else if (climbed) {
      return true;
    }
  }
  std::vector<std::string_view> parts;
  if (!target.starts_with('/')) parts = components(parent(path));
  for (const std::string_view part : split(target, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  std::string end;
  for (const std::string_view part : parts) end.append("/").append(part);
  if (end.empty()) end = "/";
  const auto holds = [&](const auto& place) { return contains(place, end); };
  return std::ranges::none_of(kSystem, holds) &&
         std::ranges::none_of(record_.roots,
                              [&](const StagedRoot& root) { return holds(root.path); });
}

StageVerdict StageJudge::judge_object(std::string_view path, mode_t mode,
                                      std::string_view target) const {
  std::string top(path);
  if (S_ISLNK(mode)) {
    if (leads_out(path, target)) return {std::string(kLeadsOut), top};
    // `.cargo -> x`: what is `x/config.toml` now would be a protected file.
    const auto behind = names_behind(basename(path), record_.held.protect);
    if (behind.empty()) return {};
    return {std::string(name_of(behind.front().name->kind)), top};
  }
  if (S_ISDIR(mode)) return {};
  if (!S_ISREG(mode)) return {std::string(kNoFile), top};
  if ((mode & (S_ISUID | S_ISGID)) != 0) return {std::string(kSetId), top};
  return {};
}

}  // namespace cordon
