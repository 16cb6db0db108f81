#include "run/tracked_run.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "changes/held_back.h"
#include "changes/written_tips.h"
#include "host/git/layout.h"
#include "host/git/tracked_search.h"
#include "host/inspect.h"
#include "host/own_programs.h"
#include "host/resolve.h"
#include "host/walk.h"
#include "policy/deny_index.h"
#include "policy/protected_names.h"
#include "run/object_dialogue.h"
#include "run/run_note.h"

namespace cordon {
namespace {

constexpr std::size_t kMostFileBytes = std::size_t{16} * 1024 * 1024;
constexpr std::size_t kMostCommitBytes = std::size_t{1024} * 1024;
constexpr std::size_t kMostTreeBytes = std::size_t{16} * 1024 * 1024;
// Together: a run can leave as much as it likes in a held directory.
constexpr std::size_t kMostHashedBytes = std::size_t{64} * 1024 * 1024;
constexpr std::size_t kMostFiles = 1000;
constexpr std::size_t kPointerLimit = 8192;
constexpr int kDeepest = 64;

// A file that was held back, or one of a directory that was.
struct Candidate {
  std::size_t record = 0;
  std::string path;        // where the host would have it
  std::string kept;        // where it lies
  std::string repository;  // empty: it never passes
  TrackedFile file;
  std::optional<TrackedPlace> place;
};

std::string_view trimmed(std::string_view text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

// ".git" in any spelling that a file system without case would take for it.
bool is_git_name(std::string_view name) {
  return name.size() == 4 && std::ranges::equal(name, std::string_view(".git"), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b;
         });
}

// Finds the repository in whose work tree a path lies, among those from before the run.
class WorkTrees {
 public:
  WorkTrees(const JudgedRun& run, const RunBranches& branches)
      : run_(run), branches_(branches), own_(own_programs(run.caller)) {
    for (const std::string& own : {run.caller.config_directory, run.caller.state_directory}) {
      if (own.empty()) continue;
      const Result<Canonical> found = canonicalize(own, "/", run.caller);
      own_.push_back(found ? found->path : own);
    }
  }

  struct Place {
    std::string repository;  // its common git directory; empty: none that counts
    std::string below;       // the path from the top of the work tree
  };
  [[nodiscard]] Place of(const std::string& path) const {
    if (never_passes(path)) return {};
    for (std::string_view up = parent(path); up != "/"; up = parent(up)) {
      // What git takes for its own is nobody's work tree.
      if (is_git_name(basename(up)) || is_git_directory(std::string(up))) return {};
      const auto covers = [&](const Grant& grant) { return contains(grant.path, up); };
      if (std::ranges::none_of(run_.clamped.effective().write, covers)) return {};
      const auto git = inspect_path(join(up, ".git"));
      if (!git) continue;
      return {repository_at(std::string(up), *git), path.substr(up.size() + 1)};
    }
    return {};
  }

  // Git's own, Cordon's own (an older version of a ceiling may permit more), and what is denied: a
  // deny is the operator's word, whoever's file it is.
  [[nodiscard]] bool never_passes(const std::string& path) const {
    const auto is_in = [&](const std::string& own) { return contains(own, path); };
    const auto denies = [&](const DenyGlob& deny) { return deny_matches(deny, path); };
    return is_git_name(basename(path)) || std::ranges::any_of(own_, is_in) ||
           std::ranges::any_of(run_.clamped.effective().deny, denies);
  }

 private:
  [[nodiscard]] std::string repository_at(const std::string& top, const FileInfo& git) const {
    if (git.symlink) return {};
    if (git.kind == FileKind::Directory) return known(join(top, ".git"));
    return git.kind == FileKind::Regular ? of_worktree(top) : std::string();
  }

  // A git directory that was there before the run, and is the same object.
  [[nodiscard]] std::string known(const std::string& directory) const {
    const auto found = branches_.repositories().find(directory);
    const auto seen = inspect_path(directory);
    const bool same =
        found != branches_.repositories().end() && seen && seen->id == found->second.directory;
    return same ? directory : std::string();
  }

  // A linked worktree that was there before the run: pointer and directory name each other. Both
  // were held during the run. The work tree of a submodule is not one.
  [[nodiscard]] std::string of_worktree(const std::string& top) const {
    const auto pointer = text_of(join(top, ".git"));
    const auto target = pointer ? parse_git_file(*pointer) : std::nullopt;
    if (!target || target->empty() || has_dotdot(*target)) return {};
    const std::string directory =
        target->starts_with('/') ? normalize(*target) : normalize(join(top, *target));
    if (!run_.survey.snapshot.git_directories.contains(directory) ||
        basename(parent(directory)) != "worktrees") {
      return {};
    }
    const auto back = text_of(join(directory, "gitdir"));
    const auto common = text_of(join(directory, "commondir"));
    if (!back || trimmed(*back) != join(top, ".git") || !common || trimmed(*common) != "../..") {
      return {};
    }
    return known(std::string(parent(parent(directory))));
  }

  static std::optional<std::string> text_of(const std::string& path) {
    const Fd above = open_canonical(std::string(parent(path)), O_PATH | O_DIRECTORY);
    return above.valid() ? read_regular(above.get(), std::string(basename(path)), kPointerLimit)
                         : std::nullopt;
  }

  const JudgedRun& run_;
  const RunBranches& branches_;
  std::vector<std::string> own_;
};

// One pass over what was held back.
class TrackedPass {
 public:
  TrackedPass(const RunInput& input, const JudgedRun& run, const RunBranches& branches,
              const std::string& run_id, std::vector<ChangeRecord>& records)
      : input_(input),
        run_(run),
        branches_(branches),
        run_id_(run_id),
        records_(records),
        trees_(run, branches) {}

  PassedTracked pass() {
    for (std::size_t i = 0; i < records_.size(); ++i) collect(i);
    std::set<std::string> repositories;
    for (const Candidate& one : candidates_) {
      if (!one.repository.empty()) repositories.insert(one.repository);
    }
    if (repositories.empty()) return {};
    if (!branches_.alone() ||
        !other_branches(run_.caller, run_id_, run_.clamped.effective()).empty()) {
      not_asked("another run is at work in this tree");
      return {};
    }
    const WrittenTips written = WrittenTips::read(run_.caller.state_directory);
    if (!written.problem().empty()) {
      not_asked(written.problem());
      return {};
    }
    for (const std::string& repository : repositories) ask(repository, written);
    return {settle(), std::move(recovered_)};
  }

 private:
  void collect(std::size_t index) {
    const ChangeRecord& record = records_[index];
    // Deletions name no content.
    if (record.state != Change::State::Held || record.kept.empty() ||
        record.change == Change::Kind::Deleted || record.reason == name_of(HoldKind::Denied)) {
      return;
    }
    // What could not leave its file system lies where the next run may write.
    if (!contains(handoff_directory(run_.caller.state_directory), record.kept)) return;
    const WorkTrees::Place place = trees_.of(record.path);
    if (place.repository.empty()) return;
    const Fd above = open_canonical(std::string(parent(record.kept)), O_PATH | O_DIRECTORY);
    const auto seen = above.valid() ? inspect_name(above.get(), std::string(basename(record.kept)))
                                    : std::nullopt;
    if (!seen) return;
    if (seen->kind != FileKind::Directory) {
      add(index, record.path, record.kept, place);
      return;
    }
    const std::size_t first = candidates_.size();
    if (!collect_below(index, record.path, record.kept, place, 0)) candidates_.resize(first);
  }

  // False if there is more in it than is looked at.
  bool collect_below(std::size_t index, const std::string& path, const std::string& kept,
                     const WorkTrees::Place& place, int depth) {
    const Fd fd = open_canonical(kept, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    DirectoryNames names;
    if (depth > kDeepest || !fd.valid() || !names.read(fd.get())) return false;
    const bool git = looks_like_git_directory(names);
    std::vector<std::pair<std::string, EntryType>> entries;
    for (const DirectoryEntry& entry : names.entries()) {
      entries.emplace_back(std::string(entry.name), entry.type);
    }
    for (const auto& [name, type] : entries) {
      if (candidates_.size() >= kMostFiles) return false;
      const std::string lies = join(kept, name);
      const bool never = git || trees_.never_passes(join(path, name));
      const WorkTrees::Place below{never ? std::string() : place.repository,
                                   join(place.below, name)};
      if (type == EntryType::Directory) {
        if (!collect_below(index, join(path, name), lies, below, depth + 1)) return false;
      } else {
        add(index, join(path, name), lies, below);
      }
    }
    return true;
  }

  // Hashes the file. One that cannot pass is a candidate too: it gets a record of its own where its
  // directory is split.
  void add(std::size_t index, const std::string& path, const std::string& kept,
           const WorkTrees::Place& place) {
    Candidate one{index, path, kept, {}, {}, {}};
    const Fd above = open_canonical(std::string(parent(kept)), O_PATH | O_DIRECTORY);
    const std::string name(basename(kept));
    const auto seen = above.valid() ? inspect_name(above.get(), name) : std::nullopt;
    // A second name may lie where the next run writes.
    const bool plain = candidates_.size() < kMostFiles && seen && seen->kind == FileKind::Regular &&
                       seen->links == 1 && (seen->mode & 07000) == 0;
    const bool fits = plain && hashed_ + seen->size <= kMostHashedBytes;
    const auto content = fits ? read_regular(above.get(), name, kMostFileBytes) : std::nullopt;
    if (content) hashed_ += content->size();
    if (content && !place.repository.empty()) {
      const auto& tips = branches_.repositories().at(place.repository).tips;
      const auto known =
          std::ranges::find_if(tips, [](const BranchTip& tip) { return !tip.id.empty(); });
      if (known != tips.end()) {
        one.repository = place.repository;
        one.file.path = place.below;
        one.file.executable = (seen->mode & 0100) != 0;
        one.file.blob = git_object_id(git_hash_of(known->id), "blob", *content);
      }
    }
    candidates_.push_back(std::move(one));
  }

  void not_asked(const std::string& why) {
    for (const Candidate& one : candidates_) {
      if (!one.repository.empty()) explain(one.record, why);
    }
  }
  void not_asked_in(const std::string& repository, const std::string& why) {
    for (const Candidate& one : candidates_) {
      if (one.repository == repository && !one.place) explain(one.record, why);
    }
  }
  void explain(std::size_t index, const std::string& why) {
    if (!explained_.insert(index).second) return;
    records_[index].reason += "; not looked for in branches: " + why;
  }

  void ask(const std::string& repository, const WrittenTips& written) {
    const BranchTips& before = branches_.repositories().at(repository);
    std::vector<BranchTip> tips;
    for (const BranchTip& tip : before.branches()) {
      if (!written.contains(tip.id)) tips.push_back(tip);
    }
    if (!before.told) return not_asked_in(repository, "its branches cannot be read");
    if (written.is_untold(repository, before.directory)) {
      return not_asked_in(repository,
                          "after a run its branches could not be read: look through them, "
                          "then remove the line of this repository in " +
                              quote(WrittenTips::file_in(run_.caller.state_directory)));
    }
    if (tips.empty()) return not_asked_in(repository, "a run wrote every one of them");
    std::vector<Candidate*> asked;
    for (Candidate& one : candidates_) {
      if (one.repository == repository) asked.push_back(&one);
    }
    ObjectDialogue dialogue;
    const std::string failure = dialogue.run(input_, run_.caller, repository, [&] {
      // What the repository has not got as an object at all is in none of its commits. Most of
      // what is held back ends here.
      std::erase_if(asked, [&](const Candidate* one) {
        return !dialogue.ask(one->file.blob, "blob", kMostFileBytes);
      });
      if (asked.empty()) return;
      TrackedSearch search(
          [&](const std::string& id, std::string_view type) {
            return dialogue.ask(id, type, type == "commit" ? kMostCommitBytes : kMostTreeBytes);
          },
          [&](const std::string& id) { return written.contains(id); });
      std::vector<TrackedFile> files;
      for (const Candidate* one : asked) files.push_back(one->file);
      auto found = search.find(tips, files);
      for (std::size_t i = 0; i < asked.size(); ++i) asked[i]->place = std::move(found[i]);
    });
    std::ranges::move(dialogue.take_recovered(), std::back_inserter(recovered_));
    // What was proven is proven, however git ended.
    if (failure.empty()) return;
    not_asked_in(repository, failure);
  }

  // Replaces records of directories, and tells what passes.
  std::vector<std::string> settle() {
    std::vector<std::string> passing;
    std::vector<ChangeRecord> records;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      std::vector<const Candidate*> of_record;
      for (const Candidate& one : candidates_) {
        if (one.record == i) of_record.push_back(&one);
      }
      const auto passes = [](const Candidate* one) { return one->place.has_value(); };
      if (std::ranges::none_of(of_record, passes)) {
        records.push_back(std::move(records_[i]));
        continue;
      }
      for (const Candidate* one : of_record) {
        ChangeRecord record = records_[i];
        if (one->path != record.path) {
          record.path = one->path;
          record.kept = one->kept;
          record.base = fingerprint_path(record.path);
        }
        if (one->place && ready(record)) {
          record.reason += ": tracked by branch " + sanitize(one->place->branch) + ", commit " +
                           one->place->commit.substr(0, 12);
          passing.push_back(record.path);
        }
        records.push_back(std::move(record));
      }
    }
    records_ = std::move(records);
    return passing;
  }

  // The host has what it had, and the file gets no permission that git does not know of: no more
  // than what stands there, or else what others may read.
  static bool ready(const ChangeRecord& record) {
    if (record.base == kUnknown || fingerprint_path(record.path) != record.base) return false;
    const auto there = inspect_path(record.path);
    // In place of a directory it would delete what is in there.
    if (there && there->kind == FileKind::Directory) return false;
    const unsigned shared = there && there->kind == FileKind::Regular ? there->mode & 0022U : 0U;
    const Fd above = open_canonical(std::string(parent(record.kept)), O_PATH | O_DIRECTORY);
    if (!above.valid()) return false;
    const Fd file(::openat(above.get(), std::string(basename(record.kept)).c_str(),
                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    const auto seen = file.valid() ? inspect_fd(file.get()) : std::nullopt;
    return seen && ::fchmod(file.get(), seen->mode & (0755U | shared)) == 0;
  }

  const RunInput& input_;
  const JudgedRun& run_;
  const RunBranches& branches_;
  const std::string& run_id_;
  std::vector<ChangeRecord>& records_;
  WorkTrees trees_;
  std::vector<Candidate> candidates_;
  std::size_t hashed_ = 0;
  std::set<std::size_t> explained_;
  std::vector<Quarantined> recovered_;
};

}  // namespace

RunBranches RunBranches::read(const JudgedRun& run) {
  RunBranches found;
  for (const std::string& directory : run.survey.snapshot.git_directories) {
    // That of a linked worktree has no branches of its own.
    if (basename(parent(directory)) == "worktrees" && inspect_path(join(directory, "commondir"))) {
      continue;
    }
    found.repositories_.emplace(directory, read_branch_tips(directory));
  }
  // Looked for after the tips were read: a run whose note is not there yet has started nothing.
  const std::vector<OtherBranches> others =
      found.repositories_.empty() ? std::vector<OtherBranches>()
                                  : other_branches(run.caller, {}, run.clamped.effective());
  found.alone_ = others.empty();
  for (const auto& [directory, tips] : found.repositories_) {
    std::set<std::string> values = tips.values();
    for (const OtherBranches& other : others) {
      const auto covers = [&repository = directory](const std::string& path) {
        return contains(path, repository);
      };
      if (std::ranges::none_of(other.writable, covers)) continue;
      // It may have written this tip, take it back before it ends, and leave it to this run to
      // write it once more. What it found itself is older than both.
      std::erase_if(
          values, [&](const std::string& id) { return !other.tips || !other.tips->contains(id); });
    }
    found.baseline_.merge(values);
  }
  return found;
}

Result<void> RunBranches::note_written(const Caller& caller,
                                       const std::set<std::string>& found) const {
  std::set<std::string> directories = found;
  std::set<std::string> untold;
  for (const auto& [directory, tips] : repositories_) {
    directories.insert(directory);
    if (!tips.told) untold.insert(directory);
  }
  return add_new_tips(caller.state_directory, directories, untold, baseline_);
}

PassedTracked pass_tracked(const RunInput& input, const JudgedRun& run, const RunBranches& branches,
                           const std::string& run_id, std::vector<ChangeRecord>& records) {
  if (!run.clamped.effective().trust_tracked || branches.repositories().empty()) return {};
  return TrackedPass(input, run, branches, run_id, records).pass();
}

}  // namespace cordon
