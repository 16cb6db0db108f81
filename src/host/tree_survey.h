// TreeSurvey: the walk over granted trees before a run. It fills the holds, masks and git
// directories of HostFacts and the snapshot that the search after the run compares with.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "host/classify.h"
#include "host/git/config.h"
#include "host/git/references.h"
#include "host/inspect.h"
#include "host/linked_ways.h"
#include "host/survey.h"
#include "host/writable.h"

namespace cordon {

class TreeSurvey final : public TreeVisitor {
 public:
  // `user` is the caller's own git configuration.
  TreeSurvey(const Effective& effective, const Caller& caller, const UserGit& user,
             std::span<const OlderRun> older, Survey& out);

  // Before run(): enters no directory but those that lead to one of `paths`, and git directories.
  void only_towards(std::span<const std::string> paths) { ways_ = paths; }
  Result<void> run();
  // A path that must not be seen; also used for what is found without a walk.
  void mask(const std::string& path, const FileInfo& seen, const std::string& reason);
  // `link`: by which a protected name leads there.
  void hold(const std::string& path, const FileInfo& seen, HoldKind kind, std::string link = {});
  // Something that is found again by this path and no other way.
  void name(const std::string& path) { named_.push_back(path); }
  // A directory that may not be renamed, wherever it stands.
  void pin(std::string path) { pinned_.push_back(std::move(path)); }
  // After run(); `named` by the policy and its ceilings.
  void pin_ways(const std::vector<NamedPath>& named);

  void visit(WalkedDirectory& directory) override;
  Fd open_closed(const ClosedDirectory& closed) override;
  [[nodiscard]] bool knows_enough(const std::string& path,
                                  WalkedDirectory::State state) const override;
  [[nodiscard]] bool matters(const DirectoryEntry& entry) const override;
  [[nodiscard]] bool visits_all() const override;

  // What a link leads to, if it lies in a writable grant.
  void hold_target(const std::string& link, HoldKind kind);

 private:
  // True if the grant as a whole is denied.
  bool deny_root(const Grant& grant);
  Result<void> walk_root(const Grant& grant);
  Result<void> walk_denies();
  void visit_entry(WalkedDirectory& directory, const DirectoryEntry& entry);
  void visit_git(const WalkedDirectory& directory);
  void deny(const WalkedDirectory& directory, const DirectoryEntry& entry, const DenyGlob& rule);
  void protect(WalkedDirectory& directory, const DirectoryEntry& entry,
               const Protection& protection);
  // What protected names lead to through links.
  Result<void> hold_ways();
  // What git outside runs, or takes hooks or configuration from.
  void hold_reference(const GitReference& reference);
  void remember_loose(const std::string& path, const FileInfo& seen);
  // A directory that cannot be searched: nothing in it may change either.
  void close(const std::string& path, const FileInfo& seen);
  void close_deep(const WalkedDirectory& directory, const DirectoryEntry& entry);
  // False for what lies in a tree of an older run and appeared after that began.
  [[nodiscard]] bool is_older(const std::string& path, const FileInfo& seen) const;
  void add_git_snapshot(const std::string& path, TreeSnapshot&& found);
  [[nodiscard]] bool is_entered(const WalkedDirectory& directory,
                                const DirectoryEntry& entry) const;
  // The directories that a deny needs in place to match `path` again.
  void name_denied(const std::string& path, const DenyGlob& rule);

  const Effective& effective_;
  const Caller& caller_;
  const UserGit& user_;
  std::span<const OlderRun> older_;
  Survey& out_;
  std::optional<std::span<const std::string>> ways_;  // absent: every directory is entered
  GrantPaths grants_;
  Classifier classifier_;
  // By path: a bind mount shows one repository twice, and each view needs mounts of its own.
  std::set<std::string> git_seen_;
  GitReferences references_;
  std::vector<std::string> named_;
  std::vector<std::string> pinned_;
  std::vector<WayLink> links_;
  std::optional<Error> refusal_;
};

// Other runs work in these places by their names: what this run renamed would be missed by their
// search. Nothing on the way to their roots can be renamed. For a backend that has mounts.
void pin_roots_of(std::span<const OlderRun> others, const Effective& effective, HostFacts& facts);

// The last step: nothing twice, nothing inside what hides or holds it anyway.
void drop_covered(HostFacts& facts);

}  // namespace cordon
