#include "plan/keeping_plan.h"

#include <algorithm>

#include "base/path.h"

namespace cordon {
namespace {

bool is_writable(const Effective& effective, std::string_view path) {
  return std::ranges::any_of(effective.write,
                             [&](const Grant& grant) { return contains(grant.path, path); });
}

// A grant for writing of the same place or below it is the nearer word.
bool is_read_only_in_writable(const Effective& effective, const Grant& read) {
  const auto same = [&](const Grant& grant) { return grant.path == read.path; };
  return is_writable(effective, read.path) && std::ranges::none_of(effective.write, same);
}

KeptPath kept(const Held& held) {
  return {held.path, held.kind,
          held.file == FileKind::Directory ? KeptPath::Form::Tree : KeptPath::Form::File};
}

}  // namespace

Keeping keeping_for(const Effective& effective, const HostFacts& facts) {
  Keeping keeping;
  for (const Held& held : facts.held)
    if (is_writable(effective, held.path)) keeping.paths.push_back(kept(held));
  for (const GitDirectory& git : facts.git) {
    for (const Held& held : git.held) keeping.paths.push_back(kept(held));
    for (const GitDirectory::Config& config : git.configs)
      keeping.paths.push_back({config.path, HoldKind::Git, KeptPath::Form::GitConfig});
    for (const Held& pinned : git.pinned)
      if (is_writable(effective, pinned.path)) keeping.trace.push_back(pinned.path);
  }
  for (const Pinned& pinned : facts.pinned) {
    if (!is_writable(effective, pinned.path)) continue;
    if (pinned.is_protected_link()) {
      keeping.paths.push_back({pinned.path, *pinned.shows, KeptPath::Form::File});
    } else {
      keeping.trace.push_back(pinned.path);
    }
  }
  for (const Grant& grant : effective.read) {
    const auto covers = [&](const KeptPath& path) {
      return contains(path.path, grant.path) &&
             (path.form == KeptPath::Form::Tree || path.path == grant.path);
    };
    const bool is_kept = std::ranges::any_of(keeping.paths, covers);
    if (is_kept || !is_read_only_in_writable(effective, grant)) continue;
    keeping.paths.push_back(
        {grant.path, HoldKind::ReadOnly,
         grant.kind == FileKind::Directory ? KeptPath::Form::Tree : KeptPath::Form::File});
  }
  std::ranges::sort(keeping.paths);
  std::ranges::sort(keeping.trace);
  keeping.trace.erase(std::unique(keeping.trace.begin(), keeping.trace.end()), keeping.trace.end());
  return keeping;
}

bool leads_to_kept(const Pinned& pinned, const Clamped& clamped, const HostFacts& facts,
                   const Caller& caller) {
  const auto leads = [&](std::string_view path) {
    return !path.empty() && contains(pinned.path, path);
  };
  const Effective& effective = clamped.effective();
  for (const NamedPath& named : clamped.named())
    if (leads(named.lexical) || leads(named.path)) return false;
  for (const std::vector<Grant>* grants : {&effective.read, &effective.write, &effective.sockets})
    for (const Grant& grant : *grants)
      if (leads(grant.path) || leads(grant.lexical)) return false;
  for (const DenyGlob& rule : effective.deny)
    if (leads(rule.anchor)) return false;
  for (const Masked& mask : facts.masked)
    if (leads(mask.path)) return false;
  for (const std::string* own : {&caller.config_directory, &caller.state_directory,
                                 &caller.runtime_directory, &caller.executable})
    if (leads(*own)) return false;
  if (pinned.shows) return true;
  const auto below = [&](const Held& held) { return leads(held.path) && held.path != pinned.path; };
  const auto in_git = [&](const GitDirectory& git) { return std::ranges::any_of(git.held, below); };
  return std::ranges::any_of(facts.held, below) || std::ranges::any_of(facts.git, in_git);
}

}  // namespace cordon
