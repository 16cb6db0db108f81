#include "changes/stage_git.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "changes/stage_judge.h"
#include "host/git/index.h"
#include "host/inspect.h"
#include "host/tree_copy.h"
#include "host/walk.h"

namespace cordon {
namespace {

using State = Change::State;

constexpr std::string_view kSymbolicRef = "ref: ";
constexpr std::size_t kMostGitIndexBytes = std::size_t{256} * 1024 * 1024;
constexpr int kMostChain = 100'000;
// Stands in `replaced` of a record that a batch moved.
constexpr const char* kMovedRef = "git";

// The branch that a HEAD names; empty if it is an id.
std::string branch_of(const std::string& head) {
  return head.starts_with(kSymbolicRef) ? head.substr(kSymbolicRef.size()) : std::string();
}

bool is_tag(std::string_view name) { return name.starts_with("refs/tags/"); }

// Without refs/heads/ or refs/tags/.
std::string short_name(const std::string& name) { return name.substr(name.find('/', 5) + 1); }

std::string list_some(const std::vector<std::string>& names) {
  constexpr std::size_t kMostNamed = 5;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMostNamed; ++i) {
    text += (i == 0 ? "" : ", ") + quote(names[i]);
  }
  if (names.size() > kMostNamed) {
    text += " and " + std::to_string(names.size() - kMostNamed) + " more";
  }
  return text;
}

}  // namespace

StageGit::StageGit(Manifest& manifest, const Stage& stage, std::string git_directory,
                   std::vector<std::size_t> records, int replaced)
    : manifest_(manifest),
      stage_(stage),
      path_(std::move(git_directory)),
      records_(std::move(records)),
      replaced_(replaced) {}

std::string StageGit::top() const { return std::string(parent(path_)); }

std::string StageGit::layer() const {
  for (const StagedRoot& root : stage_.record().roots) {
    if (contains(root.path, path_)) return root.upper + path_.substr(root.path.size());
  }
  return {};
}

// Of this repository alone: a batch may bring commits to several.
std::string StageGit::pack_place() const {
  return join(join(stage_.directory(), "git"), std::to_string(records_.front()));
}

bool StageGit::open(Way way) {
  directory_ = open_canonical(path_, O_RDONLY | O_DIRECTORY);
  const auto& known = stage_.record().repositories;
  const auto found = std::ranges::find(known, path_, &StagedRepository::path);
  const auto seen = directory_.valid() ? inspect_fd(directory_.get()) : std::nullopt;
  if (found == known.end() || !seen || seen->id != found->id) return false;
  before_ = &*found;
  head_before_ = head_after_ = before_->refs.head;
  for (const std::size_t index : records_) {
    const ChangeRecord& record = manifest_.records[index];
    const auto move = git_move_of(record);
    const std::string name = record.path.substr(path_.size() + 1);
    if (!move) {
      index_record_ = index;
      continue;
    }
    if (name == "HEAD") head_after_ = move->after;
    const bool waits = record.state == State::Held || record.state == State::Conflict;
    const bool can_go_back = record.state == State::Applied && record.replaced == kMovedRef;
    if (way == Way::Forward ? waits : can_go_back) {
      Step step;
      step.record = index;
      step.name = name;
      step.move = way == Way::Forward ? *move : GitMove{move->after, move->before};
      steps_.push_back(std::move(step));
    }
  }
  // Branches before HEAD, which leads to one of them.
  std::ranges::stable_partition(steps_, [](const Step& step) { return step.name != "HEAD"; });
  const std::string branch = branch_of(head_before_);
  commit_before_ =
      branch.empty() ? head_before_ : ref_value(before_->refs.refs, branch).value_or("");
  commit_after_ = value_after(head_after_);
  host_ = read_git_refs(path_);
  return true;
}

std::string StageGit::value_after(const std::string& head) const {
  const std::string branch = branch_of(head);
  if (branch.empty()) return head;
  for (const std::size_t index : records_) {
    const auto move = git_move_of(manifest_.records[index]);
    if (move && manifest_.records[index].path == join(path_, branch)) return move->after;
  }
  return ref_value(before_->refs.refs, branch).value_or("");
}

std::string StageGit::host_value(const std::string& name) const {
  return name == "HEAD" ? host_.head : ref_value(host_.refs, name).value_or("");
}

// What has to move together, or not at all: else a work tree would be that of another commit.
bool StageGit::is_carrier(const Step& step) const {
  return step.name == "HEAD" || step.name == branch_of(head_before_) ||
         step.name == branch_of(head_after_);
}

void StageGit::refuse_all(const std::string& why) {
  for (Step& step : steps_) step.why = why;
}

void StageGit::plan(GitCourier* courier) {
  if (!open(Way::Forward)) return;
  std::string_view why;
  if (const std::string_view form = unsupported_git(directory_.get()); !form.empty()) why = form;
  if (!host_.told || host_.head.empty()) why = kGitFormat;
  if (courier == nullptr) why = kGitReason;
  if (!why.empty()) return refuse_all(std::string(why));
  compare_with_host();
  if (auto done = bring(*courier); !done) {
    return refuse_all("git: the commits cannot be taken over: " + message(done.error()));
  }
  moves_checkout_ = std::ranges::any_of(
      steps_, [&](const Step& step) { return is_carrier(step) && !step.is_there; });
  judge_steps();
  const auto stays = std::ranges::find_if(
      steps_, [&](const Step& step) { return is_carrier(step) && !step.why.empty(); });
  if (stays != steps_.end()) {
    const bool by_host = stays->by_host;
    leave_checkout(stays->why);
    for (Step& step : steps_) {
      if (is_carrier(step) && by_host) step.by_host = true;
    }
  }
  plan_index();
  name_merge_refs();
}

void StageGit::plan_back() {
  if (!open(Way::Back)) return;
  for (Step& step : steps_) {
    const std::string now = host_value(step.name);
    if (now == step.move.after) {
      step.is_there = true;
    } else if (now != step.move.before) {
      step.why = "moved since";
    }
    const auto is_packed = [&](const GitRef& ref) { return ref.name == step.name && !ref.loose; };
    if (step.move.after.empty() && std::ranges::any_of(host_.refs, is_packed)) {
      step.why = "in packed-refs by now";
    }
  }
  moves_checkout_ = std::ranges::any_of(steps_, [&](const Step& s) { return is_carrier(s); });
  if (!moves_checkout_) return;
  const auto text = read_regular(replaced_, list_name(), kMostGitIndexBytes);
  FieldReader fields(text ? *text : std::string_view());
  for (std::uint64_t left = text ? fields.number() : 0; left > 0 && fields.good(); --left) {
    GitTreeChange change;
    change.path = fields.text();
    change.after = {fields.text(), fields.text()};
    change.before = {fields.text(), fields.text()};
    committed_.insert(join(top(), change.path));
    changes_.push_back(std::move(change));
  }
  if (!text || !fields.good()) leave_checkout("what was moved with it is not known any more");
  if (is_under_way()) leave_checkout("a merge or rebase is under way there");
  const auto stays = std::ranges::find_if(
      steps_, [&](const Step& step) { return is_carrier(step) && !step.why.empty(); });
  if (stays != steps_.end()) leave_checkout(stays->why);
  plan_index();
}

// Names that stand for a command of the person's that is not finished.
bool StageGit::is_under_way() const {
  constexpr std::array<const char*, 6> kNames{"MERGE_HEAD",   "CHERRY_PICK_HEAD", "REVERT_HEAD",
                                              "rebase-merge", "rebase-apply",     "sequencer"};
  return std::ranges::any_of(
      kNames, [&](const char* name) { return inspect_name(directory_.get(), name).has_value(); });
}

bool StageGit::is_checked_out_elsewhere(const std::string& name) const {
  const Fd place = open_beneath(directory_.get(), "worktrees", O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  DirectoryNames names;
  if (!place.valid() || !names.read(place.get())) return false;
  for (const DirectoryEntry& entry : names.entries()) {
    const Fd one = open_beneath(place.get(), entry.name, O_PATH | O_DIRECTORY);
    const auto text = one.valid() ? read_regular(one.get(), "HEAD", 4096) : std::nullopt;
    if (text && parse_head(*text) == std::string(kSymbolicRef) + name) return true;
  }
  return false;
}

// Git keeps no branch `a` beside a branch `a/b`.
std::string StageGit::in_the_way(const Step& step) const {
  for (const GitRef& ref : host_.refs) {
    if (ref.name.starts_with(step.name + "/") || step.name.starts_with(ref.name + "/")) {
      return ref.name;
    }
  }
  return {};
}

void StageGit::compare_with_host() {
  const bool under_way = is_under_way();
  for (Step& step : steps_) {
    const std::string now = host_value(step.name);
    if (now == step.move.after) {
      step.is_there = true;
      continue;
    }
    const std::string way = step.name == "HEAD" ? std::string() : in_the_way(step);
    if (step.name == "HEAD" && commit_after_.empty()) {
      step.why = "git: nothing is committed on the branch that it names";
    } else if (now != step.move.before) {
      step.why = step.name == "HEAD" ? "the host has checked out something else meanwhile"
                                     : "the host has moved it meanwhile";
    } else if (!way.empty()) {
      step.why = "its name is not possible beside " + quote(way);
    } else if (step.name != "HEAD" && is_checked_out_elsewhere(step.name)) {
      step.why = "it is checked out in a linked worktree";
    } else if (is_carrier(step) && host_.head != head_before_ && host_.head != head_after_) {
      step.why = "the host has checked out something else meanwhile";
    } else if (step.name == "HEAD" && !branch_of(head_before_).empty() &&
               host_value(branch_of(head_before_)) != commit_before_ &&
               host_value(branch_of(head_before_)) != value_after(head_before_)) {
      step.why = "the host has moved " + quote(short_name(branch_of(head_before_))) + " meanwhile";
    } else if (is_carrier(step) && under_way) {
      step.why = "a merge or rebase is under way there; finish or abort it first";
    }
    step.by_host = !step.why.empty();
  }
}

Result<void> StageGit::bring(GitCourier& courier) {
  WantedCommits wanted;
  wanted.git_directory = path_;
  wanted.layer = layer();
  wanted.into = pack_place();
  std::set<std::string> tips;
  std::set<std::string> known;
  for (const Step& step : steps_) {
    const std::string after = step.name == "HEAD" ? commit_after_ : step.move.after;
    if (step.is_there || after.empty()) continue;
    tips.insert(after);
    const std::string before = step.name == "HEAD" ? commit_before_ : step.move.before;
    if (!before.empty()) known.insert(before);
    wanted.pairs.push_back({before.empty() ? commit_before_ : before, after});
  }
  if (tips.empty()) return {};
  for (const GitRef& ref : host_.refs) {
    if (!ref.id.empty()) known.insert(ref.id);
  }
  if (!commit_before_.empty()) known.insert(commit_before_);
  if (commit_after_ != commit_before_) wanted.pairs.push_back({commit_before_, commit_after_});
  wanted.hash = git_hash_of(*tips.begin());
  wanted.tips.assign(tips.begin(), tips.end());
  wanted.known.assign(known.begin(), known.end());
  (void)remove_private_tree(wanted.into);
  CORDON_CHECK(open_private_directory(std::string(parent(wanted.into))));
  CORDON_CHECK(open_private_directory(wanted.into));
  CORDON_TRY(brought, courier.bring(wanted));
  brought_ = std::move(brought);
  is_brought_ = true;
  return {};
}

// Through annotated tags; empty if it leads to no commit.
std::string StageGit::commit_of(std::string id) const {
  constexpr int kMostTags = 8;
  for (int i = 0; i < kMostTags; ++i) {
    if (brought_.objects.find(id, "commit") != nullptr) return id;
    const std::string* tag = brought_.objects.find(id, "tag");
    constexpr std::string_view kWord = "object ";
    if (tag == nullptr || !tag->starts_with(kWord)) return {};
    id = tag->substr(kWord.size(), id.size());
  }
  return {};
}

std::optional<std::string> StageGit::tree_of(const std::string& id) const {
  if (id.empty()) return std::string();
  const std::string commit = commit_of(id);
  const std::string* content = brought_.objects.find(commit, "commit");
  const auto parsed = content != nullptr ? parse_git_commit(*content, git_hash_of(commit))
                                         : std::optional<GitCommit>();
  if (!parsed) return std::nullopt;
  return parsed->tree;
}

// Of a new branch: the branch of the person's that it was begun at, by first parents; or else what
// was checked out.
std::string StageGit::base_of(const Step& step) const {
  if (step.name == "HEAD") return commit_before_;
  if (!step.move.before.empty()) return step.move.before;
  std::set<std::string_view> tips;
  for (const GitRef& ref : before_->refs.refs) tips.insert(ref.id);
  std::string at = commit_of(step.move.after);
  for (int i = 0; i < kMostChain; ++i) {
    if (tips.contains(at)) return at;
    const std::string* content = brought_.objects.find(at, "commit");
    const auto commit = content != nullptr ? parse_git_commit(*content, git_hash_of(at))
                                           : std::optional<GitCommit>();
    if (!commit) break;
    if (commit->parents.empty()) return {};
    at = commit->parents.front();
  }
  return commit_before_;
}

// Why a path may not appear in the work tree by a checkout; empty: it may.
std::string StageGit::hit_of(const StageJudge& judge, const GitTreeChange& change) const {
  const bool gone = change.after.mode.empty();
  const bool link = change.after.mode == "120000";
  const std::string path = join(top(), change.path);
  // Git takes these for orders: which filters run over which file, and what it fetches.
  const std::string name = lower_case(basename(path));
  if (name == ".gitattributes" || name == ".gitmodules") return "orders to git";
  if (change.before.mode == "160000" || change.after.mode == "160000") return "submodule";
  StageVerdict verdict = judge.judge(path, gone || link);
  if (verdict.reason.empty() && link) {
    const std::string* target = brought_.objects.find(change.after.id, "blob");
    if (target == nullptr) return "link that cannot be read";
    verdict = judge.judge_object(path, S_IFLNK, *target);
  }
  return verdict.reason;
}

std::optional<std::string> StageGit::hits_between(const std::string& before,
                                                  const std::string& after) const {
  const auto old_tree = tree_of(before);
  const auto new_tree = tree_of(after);
  const auto changes =
      old_tree && new_tree ? diff_git_trees(brought_.objects, *old_tree, *new_tree) : std::nullopt;
  if (!changes) return std::nullopt;
  const StageJudge judge(stage_.record());
  std::vector<std::string> hits;
  for (const GitTreeChange& change : *changes) {
    if (!hit_of(judge, change).empty()) hits.push_back(change.path);
  }
  if (hits.empty()) return std::string();
  return "it changes what is protected: " + list_some(hits);
}

void StageGit::judge_steps() {
  if (!is_brought_) return;
  constexpr const char* kUnproven = "git: the commits cannot be proven";
  for (Step& step : steps_) {
    if (step.is_there || step.move.after.empty()) continue;
    const std::string after = step.name == "HEAD" ? commit_after_ : step.move.after;
    const auto hits = hits_between(base_of(step), after);
    if (!hits || !hits->empty()) {
      step.why = hits ? *hits : kUnproven;
      step.by_host = false;
    }
  }
  const auto old_tree = tree_of(commit_before_);
  const auto new_tree = tree_of(commit_after_);
  auto changes =
      old_tree && new_tree ? diff_git_trees(brought_.objects, *old_tree, *new_tree) : std::nullopt;
  if (!changes) {
    for (Step& step : steps_) {
      if (is_carrier(step)) step.why = kUnproven;
    }
    return;
  }
  changes_ = *std::move(changes);
  for (const GitTreeChange& change : changes_) committed_.insert(join(top(), change.path));
}

void StageGit::leave_checkout(const std::string& why) {
  drop_checkout_locks();
  moves_checkout_ = false;
  index_after_.reset();
  for (Step& step : steps_) {
    if (is_carrier(step) && !step.is_there && step.why.empty()) step.why = why;
  }
  name_merge_refs();
}

void StageGit::plan_index() {
  const bool there = inspect_name(directory_.get(), "index").has_value();
  const auto now = read_regular(directory_.get(), "index", kMostGitIndexBytes);
  if (there && !now) return leave_checkout("its index cannot be read");
  index_before_ = now.value_or("");
  if (moves_checkout_ && !changes_.empty()) {
    const std::string& id = commit_after_.empty() ? commit_before_ : commit_after_;
    index_after_ = follow_in_index(index_before_, git_hash_of(id), changes_);
    if (!index_after_) return leave_checkout("its index has other changes staged for these files");
  }
  if (!index_record_) return;
  const Fd upper(::open(layer().c_str(), kOpenDirectory));
  const auto inside =
      upper.valid() ? read_layer(upper.get(), "index", kMostGitIndexBytes) : std::nullopt;
  index_is_behind_ =
      !inside || !tracks_the_same(index_after_ ? *index_after_ : index_before_, *inside);
}

void StageGit::name_merge_refs() {
  const std::string plain = "refs/cordon/" + manifest_.run_id;
  bool plain_is_taken = std::ranges::any_of(
      steps_, [&](const Step& step) { return is_carrier(step) && !step.why.empty(); });
  for (Step& step : steps_) {
    step.merge_ref.clear();
    step.line.clear();
    const bool barred = step.why.starts_with("git: ") || step.why.starts_with(kGitReason);
    if (step.why.empty() || barred || !is_brought_) continue;
    const std::string name = shell_word(short_name(step.name));
    const bool is_checked_out = step.name == branch_of(head_after_) ||
                                (step.name == "HEAD" && branch_of(head_after_).empty());
    if (is_checked_out) {
      step.merge_ref = plain;
      step.line = "git merge " + plain;
    } else if (step.name == "HEAD") {
      const std::string branch = branch_of(head_after_);
      const bool arrives_otherwise = std::ranges::any_of(
          steps_, [&](const Step& one) { return one.name == branch && !one.is_there; });
      step.line = arrives_otherwise ? "git merge " + plain
                                    : "git checkout " + shell_word(short_name(branch));
    } else {
      step.merge_ref = plain_is_taken ? plain + "-" + short_name(step.name) : plain;
      plain_is_taken = true;
      const std::string ref = shell_word(step.merge_ref);
      const bool host_has = !host_value(step.name).empty();
      step.line = is_tag(step.name) ? "git tag " + name + " " + ref
                  : host_has        ? "git checkout " + name + " && git merge " + ref
                                    : "git branch " + name + " " + ref;
    }
  }
}

std::string StageGit::merge_of_checkout() const {
  for (const Step& step : steps_) {
    if (is_carrier(step) && !step.line.empty()) return step.line;
  }
  return {};
}

bool StageGit::has_work() const {
  return std::ranges::any_of(steps_, [](const Step& step) {
    return (step.why.empty() && !step.is_there) || !step.merge_ref.empty();
  });
}

namespace {

// The work tree and HEAD are as they are to be; this makes the index from HEAD.
constexpr const char* kIndexStayed =
    "git: it cannot be written, and shows what is committed as changes; git reset";

}  // namespace

std::size_t StageGit::settle_applied() {
  std::size_t done = 0;
  bool stays = false;
  for (const Step& step : steps_) {
    ChangeRecord& record = manifest_.records[step.record];
    if (step.moved || step.is_there) {
      record.state = State::Applied;
      record.reason.clear();
      record.put = record.base;
      record.replaced = step.moved ? kMovedRef : "";
      ++done;
      continue;
    }
    if (is_carrier(step)) stays = true;
    record.state = step.by_host ? State::Conflict : State::Held;
    record.replaced.clear();
    record.reason = step.line.empty() ? step.why : step.why + "; " + step.line;
  }
  if (!index_record_) return done;
  ChangeRecord& record = manifest_.records[*index_record_];
  const std::string line = merge_of_checkout();
  record.state = stays || index_is_behind_ ? State::Held : State::Applied;
  record.reason.clear();
  if (index_stayed_ && !stays) {
    record.state = State::Held;
    record.reason = kIndexStayed;
  } else if (stays) {
    record.reason = line.empty() ? std::string(kGitStaged) : std::string(kCommitted) + line;
  } else if (index_is_behind_) {
    record.reason = kGitStaged;
  } else {
    ++done;
  }
  return done;
}

std::size_t StageGit::settle_restored() {
  std::size_t done = 0;
  for (const Step& step : steps_) {
    ChangeRecord& record = manifest_.records[step.record];
    if (!step.moved && !step.is_there) continue;
    record.state = State::Held;
    record.put.clear();
    record.replaced.clear();
    ++done;
    if (!is_carrier(step) || !index_record_) continue;
    ChangeRecord& index = manifest_.records[*index_record_];
    if (index.state == State::Applied) ++done;
    index.state = State::Held;
    index.reason.clear();
  }
  return done;
}

std::vector<std::pair<std::string, std::string>> StageGit::refused() const {
  std::vector<std::pair<std::string, std::string>> refused;
  for (const Step& step : steps_) {
    if (step.moved || step.is_there) continue;
    refused.emplace_back(manifest_.records[step.record].path,
                         step.line.empty() ? step.why : step.why + "; " + step.line);
  }
  if (index_stayed_) refused.emplace_back(join(path_, "index"), kIndexStayed);
  return refused;
}

}  // namespace cordon
