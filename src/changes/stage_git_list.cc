#include "changes/stage_git_list.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "changes/stage_judge.h"
#include "changes/stage_steady.h"
#include "changes/take.h"
#include "host/git/config.h"
#include "host/inspect.h"

namespace cordon {
namespace {

constexpr std::size_t kMostRefBytes = 4096;
constexpr std::size_t kMostPackedBytes = std::size_t{4} * 1024 * 1024;
constexpr std::string_view kNoValue = "-";

// Written by git for itself, and of no use to anybody else.
constexpr std::array<std::string_view, 17> kOfNoUse{
    "objects",  "COMMIT_EDITMSG", "ORIG_HEAD",           "FETCH_HEAD",  "MERGE_MSG",   "MERGE_MODE",
    "MERGE_RR", "AUTO_MERGE",     "SQUASH_MSG",          "TAG_EDITMSG", "REBASE_HEAD", "gc.log",
    "gc.pid",   "BISECT_NAMES",   "BISECT_EXPECTED_REV", "rr-cache",    "BISECT_TERMS"};
constexpr std::array<std::string_view, 8> kUnderWay{
    "MERGE_HEAD",   "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge",
    "rebase-apply", "sequencer",        "BISECT_LOG",  "BISECT_START"};

bool is_one_of(std::string_view word, const auto& words) {
  return std::ranges::find(words, word) != words.end();
}

bool is_branch_or_tag(std::string_view name) {
  return name.starts_with("refs/heads/") || name.starts_with("refs/tags/");
}

// The first `count` names of a relative path.
std::string first_parts(std::string_view path, std::size_t count) {
  std::string text;
  for (const std::string_view part : components(path)) {
    if (count-- == 0) break;
    text.append(text.empty() ? "" : "/").append(part);
  }
  return text;
}

// Exactly an id and the end of the line: nothing else is taken for one that a run wrote.
std::optional<std::string> strict_id(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  const bool small = std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  if (!small || !is_object_id(text)) return std::nullopt;
  return std::string(text);
}

class GitList {
 public:
  GitList(const StagedRepository& before, const GitLayer& layer) : before_(before), layer_(layer) {
    for (const GitRef& ref : before.refs.refs) (ref.loose ? loose_ : packed_)[ref.name] = ref.id;
  }

  std::vector<ChangeRecord> list(const std::vector<ChangeRecord>& inside) {
    for (const ChangeRecord& record : inside) take(record);
    compare_refs();
    compare_head();
    if (index_) list_index();
    std::ranges::sort(records_, {}, &ChangeRecord::path);
    return std::move(records_);
  }

 private:
  using Kind = Change::Kind;

  ChangeRecord& add(std::string_view below, Kind change, std::string_view reason) {
    ChangeRecord record;
    record.change = change;
    record.path = join(layer_.path, below);
    record.top = record.path;
    record.reason = reason;
    record.base = "unknown";
    records_.push_back(std::move(record));
    return records_.back();
  }

  // One entry, however many files lie below it.
  void leave(const std::string& below, Kind change, std::string_view reason) {
    if (told_.insert(below).second) add(below, change, reason);
  }

  void move(std::string_view below, GitMove move, std::string_view reason = {}) {
    const Kind change = move.before.empty()  ? Kind::Added
                        : move.after.empty() ? Kind::Deleted
                                             : Kind::Modified;
    ChangeRecord& record = add(below, change, reason);
    if (reason.empty()) record.base = text_of_move(move);
  }

  [[nodiscard]] bool is_directory(std::string_view below) const {
    const std::size_t slash = below.rfind('/');
    const KeptDirectory above = KeptDirectory::open_below(
        layer_.upper, slash == std::string_view::npos ? "" : below.substr(0, slash));
    const auto seen =
        above.valid() ? lstat_at(above.get(), std::string(basename(below))) : std::nullopt;
    return seen && S_ISDIR(seen->st_mode);
  }

  void take(const ChangeRecord& record) {
    const std::string below = record.path.substr(layer_.path.size() + 1);
    const std::string first = first_parts(below, 1);
    const bool gone = record.change == Kind::Deleted;
    if (is_one_of(first, kOfNoUse) || is_git_lock(below)) return;
    if (first == "logs") {
      if (told_.insert(first).second) {
        add(first, Kind::Modified, "reflog: the host's gets a line of its own").state =
            Change::State::Lost;
      }
    } else if (first == "refs") {
      take_ref(record, below);
    } else if (below == "packed-refs") {
      const auto text = gone ? std::string() : read_layer(layer_.upper, below, kMostPackedBytes);
      std::vector<GitRef> refs;
      if (!text || !parse_packed_refs(*text, refs)) return leave(below, record.change, kGitFormat);
      packed_.clear();
      for (const GitRef& ref : refs) {
        if (is_branch_or_tag(ref.name)) packed_[ref.name] = ref.id;
      }
    } else if (below == "HEAD") {
      const auto text = read_layer(layer_.upper, below, kMostRefBytes);
      const auto head = text ? parse_head(*text) : std::nullopt;
      if (!head) return leave(below, record.change, kGitFormat);
      head_ = *head;
    } else if (below == "index") {
      index_ = record.change;
    } else if (is_one_of(first, kUnderWay)) {
      leave(first, record.change, gone ? kGitEnded : kGitUnfinished);
    } else if (first == "config" || first == "config.worktree") {
      leave(first, record.change, kGitSettings);
    } else if (first == "hooks") {
      if (gone || !is_directory(below)) leave(below, record.change, kGitHook);
    } else if (first == "modules") {
      if (below != first) leave(first_parts(below, 2), record.change, kGitModule);
    } else if (first == "worktrees") {
      if (below != first) leave(first_parts(below, 2), record.change, kGitWorktree);
    } else {
      leave(first, record.change, kGitReason);
    }
  }

  void take_ref(const ChangeRecord& record, const std::string& below) {
    if (record.change == Kind::Deleted) {
      // A file, or a directory with everything in it.
      std::erase_if(loose_, [&](const auto& one) {
        return one.first == below || one.first.starts_with(below + "/");
      });
      if (!is_branch_or_tag(below + "/"))
        leave(first_parts(below, 3), record.change, kind_of(below));
      return;
    }
    if (is_directory(below)) return;
    if (!is_branch_or_tag(below)) return leave(below, record.change, kind_of(below));
    const auto text = read_layer(layer_.upper, below, kMostRefBytes);
    const auto id = text ? strict_id(*text) : std::nullopt;
    if (!id || !is_ref_name(below)) {
      loose_.erase(below);
      return leave(below, record.change, kGitFormat);
    }
    loose_[below] = *id;
  }

  static std::string_view kind_of(std::string_view ref) {
    if (ref == "refs/stash") return kGitStash;
    if (contains("refs/remotes", ref)) return kGitRemote;
    if (contains("refs/bisect", ref) || contains("refs/rewritten", ref)) return kGitUnfinished;
    return kGitOtherRef;
  }

  [[nodiscard]] std::string inside_value(const std::string& name) const {
    const auto loose = loose_.find(name);
    if (loose != loose_.end()) return loose->second;
    const auto packed = packed_.find(name);
    return packed != packed_.end() ? packed->second : std::string();
  }

  void compare_refs() {
    std::set<std::string> names;
    for (const auto* refs : {&loose_, &packed_}) {
      for (const auto& [name, id] : *refs) names.insert(name);
    }
    for (const GitRef& ref : before_.refs.refs) names.insert(ref.name);
    for (const std::string& name : names) {
      GitMove change{ref_value(before_.refs.refs, name).value_or(""), inside_value(name)};
      if (change.before == change.after || told_.contains(name)) continue;
      std::string_view reason;
      if (change.after.empty()) {
        reason = kGitGone;
      } else if (!is_ref_name(name)) {
        reason = kGitFormat;
      } else if (!change.before.empty() && name.starts_with("refs/tags/")) {
        reason = kGitOtherRef;
      }
      move(name, std::move(change), reason);
    }
  }

  void compare_head() {
    if (head_.empty() || head_ == before_.refs.head) return;
    move("HEAD", {before_.refs.head, head_});
  }

  // What is checked out, as git inside sees it.
  [[nodiscard]] std::string head_value(const std::string& head, const auto& value) const {
    constexpr std::string_view kSymbolic = "ref: ";
    return head.starts_with(kSymbolic) ? value(head.substr(kSymbolic.size())) : head;
  }

  void list_index() {
    const std::string before = head_value(before_.refs.head, [&](const std::string& name) {
      return ref_value(before_.refs.refs, name).value_or("");
    });
    const std::string after =
        head_value(head_.empty() ? before_.refs.head : head_,
                   [&](const std::string& name) { return inside_value(name); });
    if (before == after) {
      leave("index", *index_, kGitStaged);
    } else {
      add("index", *index_, {}).base = std::string(kGitBase) + "index";
    }
  }

  const StagedRepository& before_;
  const GitLayer& layer_;
  std::map<std::string, std::string> loose_;
  std::map<std::string, std::string> packed_;
  std::string head_;
  std::optional<Kind> index_;
  std::set<std::string> told_;
  std::vector<ChangeRecord> records_;
};

bool is_true(const std::optional<std::string>& value) {
  return value && (value->empty() || lower_case(*value) == "true" || *value == "yes" ||
                   *value == "on" || *value == "1");
}

}  // namespace

std::string text_of_move(const GitMove& move) {
  const auto word = [](std::string text) {
    std::ranges::replace(text, ' ', '\t');
    return text.empty() ? std::string(kNoValue) : text;
  };
  return std::string(kGitBase) + word(move.before) + " " + word(move.after);
}

std::optional<GitMove> git_move_of(const ChangeRecord& record) {
  if (!is_git_record(record)) return std::nullopt;
  const std::vector<std::string_view> words = split(record.base, ' ');
  if (words.size() != 3) return std::nullopt;
  const auto value = [](std::string_view word) {
    std::string text(word == kNoValue ? std::string_view() : word);
    std::ranges::replace(text, '\t', ' ');
    return text;
  };
  return GitMove{value(words[1]), value(words[2])};
}

std::string_view unsupported_git(int directory) {
  if (inspect_name(directory, "commondir")) return kGitElsewhere;
  const Fd info = open_beneath(directory, "objects/info", O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  // Objects that are borrowed from elsewhere, or that a graft denies, are not seen by the sandbox.
  if (info.valid() && inspect_name(info.get(), "alternates")) return kGitFormat;
  if (inspect_name(directory, "reftable")) return kGitFormat;
  for (const char* name : {"config", "config.worktree"}) {
    const auto text = read_regular(directory, name, kGitConfigLimit);
    if (!text) continue;
    const auto settings = parse_git_config(*text);
    if (!settings) return kGitFormat;
    if (last_value(*settings, "core", "", "worktree")) return kGitBare;
    for (const GitSetting& setting : *settings) {
      if (setting.section == "core" && setting.key == "bare" && is_true(setting.value)) {
        return kGitBare;
      }
      if (setting.section != "extensions") continue;
      const bool known = setting.key == "objectformat" || setting.key == "worktreeconfig" ||
                         setting.key == "noop" || setting.key == "preciousobjects";
      if (!known) return kGitFormat;
    }
  }
  return {};
}

std::optional<std::string> read_layer(int upper, std::string_view below, std::size_t limit) {
  const std::size_t slash = below.rfind('/');
  const KeptDirectory above = KeptDirectory::open_below(
      upper, slash == std::string_view::npos ? "" : below.substr(0, slash));
  if (!above.valid()) return std::nullopt;
  const Fd file = open_kept_file(above.get(), std::string(basename(below)));
  const auto seen = file.valid() ? inspect_fd(file.get()) : std::nullopt;
  if (!seen || seen->kind != FileKind::Regular) return std::nullopt;
  return read_all(file.get(), limit);
}

std::optional<std::vector<ChangeRecord>> list_git(const StageRecord& stage, const GitLayer& layer,
                                                  const std::vector<ChangeRecord>& inside,
                                                  std::string_view& reason) {
  reason = kGitReason;
  const auto before = std::ranges::find(stage.repositories, layer.path, &StagedRepository::path);
  const auto seen = layer.lower >= 0 ? inspect_fd(layer.lower) : std::nullopt;
  if (before == stage.repositories.end() || layer.upper < 0 || !seen || seen->id != before->id) {
    return std::nullopt;
  }
  if (basename(layer.path) != ".git") {
    reason = kGitBare;
    return std::nullopt;
  }
  if (const std::string_view why = unsupported_git(layer.lower); !why.empty()) {
    reason = why;
    return std::nullopt;
  }
  if (!before->refs.told || before->refs.head.empty()) {
    reason = kGitFormat;
    return std::nullopt;
  }
  // The run worked in a linked worktree of the host: what is checked out there is another one.
  const Fd worktrees = open_beneath(layer.lower, "worktrees", O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  for (const ChangeRecord& record : inside) {
    const std::string_view below = std::string_view(record.path).substr(layer.path.size() + 1);
    if (!below.starts_with("worktrees/")) continue;
    if (worktrees.valid() && inspect_name(worktrees.get(), std::string(components(below)[1]))) {
      reason = kGitElsewhere;
      return std::nullopt;
    }
  }
  return GitList(*before, layer).list(inside);
}

}  // namespace cordon
