#include "changes/stage_list.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <optional>
#include <set>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "changes/held_back.h"
#include "changes/layer_marks.h"
#include "changes/stage.h"
#include "changes/stage_git_list.h"
#include "changes/stage_judge.h"
#include "changes/take.h"
#include "host/git/index.h"
#include "host/inspect.h"
#include "host/walk.h"

namespace cordon {
namespace {

constexpr int kDeepestStage = 200;
constexpr std::size_t kMostRecords = 500'000;
constexpr mode_t kPermissions = 07777;

using Kind = Change::Kind;
using State = Change::State;

std::optional<struct stat> stat_at(int directory, const std::string& name) {
  return directory < 0 ? std::nullopt : lstat_at(directory, name);
}

std::string mark_of(const struct stat& status) {
  std::string text = S_ISDIR(status.st_mode) ? "directory" : "object";
  const auto add = [&](std::uint64_t number) { text.append(":").append(std::to_string(number)); };
  add(status.st_dev);
  add(status.st_ino);
  add(status.st_mode);
  if (S_ISDIR(status.st_mode)) return text;
  add(static_cast<std::uint64_t>(status.st_size));
  add(static_cast<std::uint64_t>(time_in_ns(status.st_mtim)));
  add(static_cast<std::uint64_t>(time_in_ns(status.st_ctim)));
  return text;
}

// Unreadable counts as different.
bool same_content(int upper, int lower, const std::string& name) {
  const Fd first = open_kept_file(upper, name);
  const Fd second(::openat(lower, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!first.valid() || !second.valid()) return false;
  std::array<char, 65536> a;
  std::array<char, 65536> b;
  for (;;) {
    const ssize_t got = ::read(first.get(), a.data(), a.size());
    if (got < 0) return false;
    std::size_t have = 0;
    while (have < static_cast<std::size_t>(got)) {
      const ssize_t more =
          ::read(second.get(), b.data() + have, static_cast<std::size_t>(got) - have);
      if (more <= 0) return false;
      have += static_cast<std::size_t>(more);
    }
    if (got == 0) return ::read(second.get(), b.data(), 1) == 0;
    if (std::memcmp(a.data(), b.data(), have) != 0) return false;
  }
}

std::vector<std::string> names_in(int directory) {
  std::vector<std::string> sorted;
  DirectoryNames names;
  if (directory < 0) return sorted;
  (void)::lseek(directory, 0, SEEK_SET);
  if (!names.read(directory)) LookFailures::note(errno, "a directory of a stage");
  for (const DirectoryEntry& entry : names.entries()) sorted.emplace_back(entry.name);
  std::ranges::sort(sorted);
  return sorted;
}

// One directory in both trees.
struct Pair {
  int upper = -1;
  int lower = -1;  // negative: the host has none
  std::string path;
  std::string kept;
  bool conflict = false;  // of the directory, and so of everything in it
  // A directory above hides what the host has below it. The kernel marks that one alone: what is
  // made in it needs no mark of its own, and hides as much.
  bool hidden = false;
};

class StageWalk {
 public:
  StageWalk(const StageRecord& record, const std::vector<ChangeRecord>& known,
            std::vector<ChangeRecord>& records)
      : record_(record),
        known_(known),
        marks_(record.copy ? LayerMarks::By::Cordon : LayerMarks::By::Kernel),
        judge_(record),
        records_(records) {}

  Result<void> root(const StagedRoot& root) {
    const Fd upper(::open(root.upper.c_str(), kOpenDirectory));
    if (!upper.valid()) return fail(setup_error("cannot open " + quote(root.upper), errno));
    const Fd lower = open_canonical(root.path, kOpenDirectory);
    const auto seen = lower.valid() ? inspect_fd(lower.get()) : std::nullopt;
    if (!seen || seen->id != root.id) {
      return fail(setup_error(
          quote(root.path) + " is not the directory any more that the run worked on", ESTALE,
          "what it changed lies in " + quote(root.upper) + "; move the directory back"));
    }
    const auto status = stat_at(upper.get(), ".");
    const auto host = stat_at(lower.get(), ".");
    if (status && host && (status->st_mode & kPermissions) != (host->st_mode & kPermissions)) {
      add(Kind::Mode, root.path, root.upper, mark_of(*host), false, *status, {});
    }
    const Pair pair{upper.get(), lower.get(), root.path, root.upper};
    if (!is_git(pair)) return directory(pair, 0);
    git(pair, 0);
    return {};
  }

 private:
  // What stands there is gone afterwards, or is a link: then whatever finds something through this
  // name finds something else.
  static bool replaces(Kind kind, const struct stat* upper) {
    return kind == Kind::Deleted || kind == Kind::Type ||
           (upper != nullptr && S_ISLNK(upper->st_mode));
  }

  void add(Kind kind, const std::string& path, const std::string& kept, std::string base,
           bool conflict, const struct stat& upper, std::string_view target) {
    StageVerdict verdict = judge_.judge(path, replaces(kind, &upper));
    // A FIFO is put nowhere, whatever it is called: taken by its protected name it would end the
    // rest.
    const bool odd = !S_ISREG(upper.st_mode) && !S_ISDIR(upper.st_mode) && !S_ISLNK(upper.st_mode);
    if (verdict.reason.empty()) {
      verdict = judge_.judge_object(path, upper.st_mode, target);
    } else if (odd && !is_never_applied(verdict.reason)) {
      verdict.reason = judge_.judge_object(path, upper.st_mode, target).reason;
    }
    push(kind, path, kept, std::move(base), conflict, std::move(verdict));
  }

  void push(Kind kind, const std::string& path, const std::string& kept, std::string base,
            bool conflict, StageVerdict verdict) {
    ChangeRecord record;
    record.change = kind;
    // The mark of a repository says nothing of what is in it.
    const bool settled = verdict.reason != kGitReason && was_no_conflict(path, base);
    record.state = conflict && !settled ? State::Conflict : State::Held;
    record.path = path;
    record.reason = std::move(verdict.reason);
    record.top = verdict.top.empty() ? path : std::move(verdict.top);
    record.kept = kept;
    record.base = std::move(base);
    records_.push_back(std::move(record));
  }

  // The host has what it had when that was judged before.
  [[nodiscard]] bool was_no_conflict(const std::string& path, const std::string& base) const {
    const auto found = std::ranges::lower_bound(known_, path, {}, &ChangeRecord::path);
    return found != known_.end() && found->path == path && found->state == State::Held &&
           found->base == base && base != kUnknown;
  }

  [[nodiscard]] bool is_young(const timespec& time) const {
    return time_in_ns(time) > record_.began_ns;
  }
  // The host changed it during the run.
  [[nodiscard]] bool changed_beside(const struct stat& host) const {
    if (!S_ISDIR(host.st_mode)) return is_young(host.st_ctim);
    return is_young(host.st_ctim) && !is_young(host.st_mtim);
  }

  // HEAD with objects and refs, or with a pointer to where those are; also what has a configuration
  // in the place of HEAD. Of both trees together: one run may make half of it, and the next the
  // rest.
  [[nodiscard]] bool is_git(const Pair& pair) const {
    if (lower_case(basename(pair.path)) == ".git") return true;
    const auto has = [&](const char* name) {
      const auto above = stat_at(pair.upper, name);
      if (above) return !marks_.is_deleted(pair.upper, name, *above);
      return stat_at(pair.lower, name).has_value();
    };
    const bool store = has("objects") && has("refs");
    return (store && (has("HEAD") || has("config"))) || (has("HEAD") && has("commondir"));
  }

  Result<void> directory(const Pair& pair, int depth) {
    if (depth > kDeepestStage || pair.path.size() + NAME_MAX + 2 > PATH_MAX) {
      push(Kind::Modified, pair.path, pair.kept, kUnknown, false,
           {"deeper than paths reach", pair.path});
      return {};
    }
    if (records_.size() > kMostRecords) {
      return fail(setup_error(
          "the stage has more than " + std::to_string(kMostRecords) + " changes, too many to list",
          E2BIG, "what the run wrote lies in " + quote(pair.kept)));
    }
    return contents(pair, depth);
  }

  // What can arrive of it, and what cannot; or one entry for all of it, if anything in it differs.
  void git(const Pair& pair, int depth) {
    if (in_git_) {
      push(Kind::Modified, pair.path, pair.kept, kUnknown, false, {});
      return;
    }
    std::vector<ChangeRecord> inside;
    StageWalk walk(record_, known_, inside);
    walk.in_git_ = true;
    const bool listed = pair.upper >= 0 && walk.contents(pair, depth).has_value();
    if (listed && inside.empty() && pair.lower >= 0) return;
    if (listed && inside.size() == 1 && is_index_alone(pair, inside.front())) return;
    std::string_view reason = kGitReason;
    if (listed) {
      auto taken =
          list_git(record_, {pair.path, pair.kept, pair.upper, pair.lower}, inside, reason);
      if (taken) {
        std::ranges::move(*taken, std::back_inserter(records_));
        return;
      }
    }
    const bool conflict = std::ranges::any_of(
        inside, [](const ChangeRecord& one) { return one.state == State::Conflict; });
    const auto host = stat_at(pair.lower, ".");
    // A file or link stands in the place of the directory.
    const Kind kind = pair.upper < 0 ? Kind::Type : host ? Kind::Modified : Kind::Added;
    push(kind, pair.path, pair.kept, host ? mark_of(*host) : std::string(kAbsent), conflict,
         {std::string(reason), pair.path});
  }

  // `git status` writes the index anew for the times that it saw, and changes nothing by that.
  [[nodiscard]] static bool is_index_alone(const Pair& pair, const ChangeRecord& record) {
    constexpr std::size_t kMostIndexBytes = std::size_t{256} * 1024 * 1024;
    if (record.change != Kind::Modified || record.path != join(pair.path, "index")) return false;
    const auto above = read_regular(pair.upper, "index", kMostIndexBytes);
    const auto below = read_regular(pair.lower, "index", kMostIndexBytes);
    return above && below && tracks_the_same(*above, *below);
  }

  // Nothing of what the host has in it is seen inside but what the layer has as well.
  [[nodiscard]] bool hides(const Pair& pair) const {
    return pair.hidden || (pair.upper >= 0 && marks_.hides(pair.upper));
  }

  Result<void> contents(const Pair& pair, int depth) {
    for (const std::string& name : names_in(pair.upper)) CORDON_CHECK(entry(pair, name, depth));
    if (pair.lower < 0 || !hides(pair)) return {};
    for (const std::string& name : names_in(pair.lower)) {
      if (!stat_at(pair.upper, name)) CORDON_CHECK(deleted(pair, name, depth));
    }
    return {};
  }

  Result<void> entry(const Pair& pair, const std::string& name, int depth) {
    const auto upper = stat_at(pair.upper, name);
    if (!upper) return {};
    const auto host = stat_at(pair.lower, name);
    if (marks_.is_deleted(pair.upper, name, *upper))
      return host ? deleted(pair, name, depth) : Result<void>();
    const std::string path = join(pair.path, name);
    const std::string kept = join(pair.kept, name);
    std::string target;
    if (S_ISLNK(upper->st_mode)) target = read_link(pair.upper, name).value_or("");
    const bool conflict = pair.conflict || (host && changed_beside(*host));
    const std::string base = host ? mark_of(*host) : std::string(kAbsent);
    KeptDirectory above;
    Fd below;
    if (S_ISDIR(upper->st_mode)) {
      above = KeptDirectory::open(pair.upper, name);
      if (!above.valid()) return fail(setup_error("cannot open " + quote(kept), errno));
    }
    if (host && S_ISDIR(host->st_mode)) {
      below = Fd(::openat(pair.lower, name.c_str(), kOpenDirectory));
      if (!below.valid()) {
        push(Kind::Modified, path, kept, kUnknown, true, {"cannot be looked at", path});
        return {};
      }
    }
    const Pair inner{
        above.valid() ? above.get() : -1, below.valid() ? below.get() : -1, path, kept, conflict,
        above.valid() && hides(pair)};
    if ((above.valid() || below.valid()) && is_git(inner)) {
      git(inner, depth);
      return {};
    }
    if (!host) {
      add(Kind::Added, path, kept, base, conflict || is_gone_beside(pair, name, *upper), *upper,
          target);
    } else if ((host->st_mode & S_IFMT) != (upper->st_mode & S_IFMT)) {
      if (S_ISDIR(host->st_mode)) CORDON_CHECK(deleted_contents(pair, name, depth));
      add(Kind::Type, path, kept, base, conflict, *upper, target);
    } else {
      compare(pair, name, *upper, *host, conflict, target);
    }
    return S_ISDIR(upper->st_mode) ? directory(inner, depth + 1) : Result<void>();
  }

  // A copy of what the host had, which has it no more, in a directory where names changed
  // meanwhile. Where none did it was renamed inside.
  [[nodiscard]] bool is_gone_beside(const Pair& pair, const std::string& name,
                                    const struct stat& upper) const {
    const auto above = stat_at(pair.lower, ".");
    return above && is_young(above->st_mtim) && S_ISREG(upper.st_mode) &&
           marks_.was_copied(pair.upper, name);
  }

  void compare(const Pair& pair, const std::string& name, const struct stat& upper,
               const struct stat& host, bool conflict, const std::string& target) {
    const std::string path = join(pair.path, name);
    const std::string kept = join(pair.kept, name);
    const bool other_mode = (upper.st_mode & kPermissions) != (host.st_mode & kPermissions);
    bool other = false;
    if (S_ISREG(upper.st_mode)) {
      other = upper.st_size != host.st_size || !same_content(pair.upper, pair.lower, name);
    } else if (S_ISLNK(upper.st_mode)) {
      if (target == read_link(pair.lower, name).value_or("")) return;
      other = true;
    }
    if (other) {
      add(Kind::Modified, path, kept, mark_of(host), conflict, upper, target);
    } else if (other_mode) {
      add(Kind::Mode, path, kept, mark_of(host), conflict, upper, target);
    }
  }

  // What the host has and the run removed: children first.
  Result<void> deleted(const Pair& pair, const std::string& name, int depth) {
    const auto host = stat_at(pair.lower, name);
    if (!host) return {};
    const std::string path = join(pair.path, name);
    const bool git = S_ISDIR(host->st_mode) && is_git_below(pair, name);
    if (!git) CORDON_CHECK(deleted_contents(pair, name, depth));
    StageVerdict verdict = judge_.judge(path, true);
    if (git && !in_git_) verdict = {std::string(kGitReason), path};
    push(Kind::Deleted, path, {}, mark_of(*host), pair.conflict || changed_beside(*host),
         std::move(verdict));
    return {};
  }

  [[nodiscard]] bool is_git_below(const Pair& pair, const std::string& name) const {
    if (in_git_) return true;  // one entry is enough there
    const Fd below(::openat(pair.lower, name.c_str(), kOpenDirectory));
    return is_git({-1, below.valid() ? below.get() : -1, join(pair.path, name), {}});
  }

  Result<void> deleted_contents(const Pair& pair, const std::string& name, int depth) {
    const auto host = stat_at(pair.lower, name);
    if (!host || !S_ISDIR(host->st_mode)) return {};
    const std::string path = join(pair.path, name);
    const Fd below(::openat(pair.lower, name.c_str(), kOpenDirectory));
    if (!below.valid() || depth > kDeepestStage) {
      return fail(setup_error("cannot look at what the run deleted in " + quote(path),
                              below.valid() ? ELOOP : errno));
    }
    const Pair inner{-1, below.get(), path, {}, pair.conflict || changed_beside(*host)};
    for (const std::string& child : names_in(below.get())) {
      CORDON_CHECK(deleted(inner, child, depth + 1));
    }
    return {};
  }

  const StageRecord& record_;
  const std::vector<ChangeRecord>& known_;
  LayerMarks marks_;
  StageJudge judge_;
  std::vector<ChangeRecord>& records_;
  bool in_git_ = false;
};

}  // namespace

std::string host_mark(int directory, const std::string& name) {
  const auto status = stat_at(directory, name);
  if (status) return mark_of(*status);
  return errno == ENOENT || errno == ENOTDIR ? kAbsent : kUnknown;
}

Result<std::vector<ChangeRecord>> list_stage(const StageRecord& record,
                                             const std::vector<ChangeRecord>& known) {
  const LookFailures failures;
  std::vector<ChangeRecord> records;
  StageWalk walk(record, known, records);
  for (const StagedRoot& root : record.roots) CORDON_CHECK(walk.root(root));
  CORDON_CHECK(failures.check());
  std::ranges::sort(records, {}, &ChangeRecord::path);
  return records;
}

}  // namespace cordon
