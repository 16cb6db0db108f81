#include "run/run_note.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <optional>

#include "base/fd.h"
#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "changes/written_tips.h"
#include "config/node.h"
#include "host/post_run_scan.h"
#include "host/search_turn.h"
#include "host/snapshot.h"
#include "host/tree_copy.h"
#include "host/walk.h"
#include "run/held_run.h"
#include "run/staged_run.h"
#include "sandbox/native/cgroup.h"

namespace cordon {
namespace {

constexpr std::string_view kFormat = "2";
constexpr std::size_t kMostTips = 4096;

// JSON has no place for a path that is not UTF-8, and a note that cannot be read is of no use.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '%') {
      result += c;
      continue;
    }
    constexpr std::string_view kHex = "0123456789ABCDEF";
    result += '%';
    result += kHex[byte >> 4U];
    result += kHex[byte & 15U];
  }
  return result;
}

std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const bool coded = text[i] == '%' && i + 2 < text.size() &&
                       std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr ==
                           text.data() + i + 3;
    result += coded ? static_cast<char>(value) : text[i];
    if (coded) i += 2;
  }
  return result;
}

constexpr std::string_view kByMounts = "mounts";
constexpr std::string_view kByCopies = "copies";

Node texts(const std::vector<std::string>& values) {
  NodeList list;
  for (const std::string& value : values) list.emplace_back(escaped(value));
  return Node(std::move(list));
}

Node root_node(const SearchRoot& root) {
  return texts({root.path, std::to_string(root.id.device), std::to_string(root.id.inode),
                std::to_string(root.born_ns)});
}

std::string encode(const NoteContent& content) {
  Node node{NodeMap{}};
  node.set("format", std::string(kFormat));
  node.set("run_id", content.run_id);
  node.set("pid", Node(static_cast<std::uint64_t>(::getpid())));
  node.set("cgroups", texts(content.cgroups));
  node.set("private", escaped(content.private_directory));
  node.set("kept", escaped(content.kept_directory));
  node.set("stage", escaped(content.stage_directory));
  node.set("holds", std::string(content.holds_by_mounts ? kByMounts : kByCopies));
  NodeList writable;
  for (const Grant& grant : content.writable) writable.emplace_back(escaped(grant.path));
  node.set("writable", std::move(writable));
  NodeList deny;
  for (const DenyGlob& rule : content.deny) {
    deny.push_back(texts({rule.written, rule.anchor, rule.pattern}));
  }
  node.set("deny", std::move(deny));
  NodeList roots;
  for (const SearchRoot& root : content.roots) roots.push_back(root_node(root));
  node.set("roots", std::move(roots));
  node.set("snapshot", texts(write_snapshot(content.snapshot)));
  // A text each costs time before the launch. Without them the recovery takes every tip for new.
  if (content.tips && content.tips->size() <= kMostTips) {
    node.set("tips", texts({content.tips->begin(), content.tips->end()}));
  }
  return write_json(node, JsonStyle::Compact) + "\n";
}

// Reads a note of this release or an earlier one, which had no escapes.
class NoteReader {
 public:
  explicit NoteReader(const Node& node) : node_(node) { coded_ = !text("format").empty(); }

  NoteContent read() {
    NoteContent content;
    content.run_id = text("run_id");
    content.cgroups = texts_of(node_.find("cgroups"));
    content.private_directory = text("private");
    content.kept_directory = text("kept");
    content.stage_directory = text("stage");
    // In a note of an earlier release only a run without mounts kept anything.
    content.holds_by_mounts =
        text("holds").empty() ? content.kept_directory.empty() : text("holds") == kByMounts;
    if (const Node* pid = node_.find("pid")) {
      if (const auto* number = std::get_if<std::int64_t>(&pid->value))
        content.writer = static_cast<pid_t>(*number);
    }
    for (const std::string& path : texts_of(node_.find("writable"))) {
      Grant grant;
      grant.written = grant.lexical = grant.path = path;
      grant.kind = FileKind::Directory;
      content.writable.push_back(std::move(grant));
    }
    for (const Node& rule : list("deny")) {
      const std::vector<std::string> parts = texts_of(&rule);
      if (parts.size() == 3) content.deny.push_back({parts[0], parts[1], parts[2]});
    }
    for (const Node& root : list("roots")) add_root(texts_of(&root), content);
    content.snapshot = read_snapshot(texts_of(node_.find("snapshot")));
    if (const Node* tips = node_.find("tips")) {
      const std::vector<std::string> values = texts_of(tips);
      content.tips.emplace(values.begin(), values.end());
    }
    return content;
  }

 private:
  [[nodiscard]] std::string decoded(const std::string& text) const {
    return coded_ ? unescaped(text) : text;
  }
  [[nodiscard]] std::string text(std::string_view key) const {
    const Node* member = node_.find(key);
    return member != nullptr && member->text() != nullptr ? decoded(*member->text()) : "";
  }
  [[nodiscard]] NodeList list(std::string_view key) const {
    const Node* member = node_.find(key);
    return member != nullptr && member->list() != nullptr ? *member->list() : NodeList{};
  }
  [[nodiscard]] std::vector<std::string> texts_of(const Node* member) const {
    std::vector<std::string> values;
    if (member == nullptr || member->list() == nullptr) return values;
    for (const Node& value : *member->list()) {
      if (value.text() != nullptr) values.push_back(decoded(*value.text()));
    }
    return values;
  }
  static void add_root(const std::vector<std::string>& parts, NoteContent& content) {
    if (parts.size() != 4) return;
    const auto device = parse_number(parts[1]);
    const auto inode = parse_number(parts[2]);
    const auto born = parse_number(parts[3]);
    if (!device || !inode || !born) return;
    content.roots.push_back(
        {parts[0], {*device, *inode}, static_cast<std::int64_t>(*born), nullptr});
  }

  const Node& node_;
  bool coded_ = false;
};

// A note may have any size: a snapshot has a text for each object. The first line is the note, each
// further one a process that was started.
std::optional<NoteContent> decode(const std::string& file) {
  constexpr std::size_t kAnyNumber = SIZE_MAX;
  const std::string text = file.substr(0, file.find('\n'));
  const auto node = read_json_message(text, {text.size(), kAnyNumber});
  if (!node || node->map() == nullptr) return std::nullopt;
  return NoteReader(*node).read();
}

// Only groups of ours: the note could have been written by anyone who can write the state
// directory. What is left in one is killed, where the kernel can kill a group: its supervisor is
// dead, and nobody else will.
// False while processes of the run are still on their way out of it.
bool remove_cgroup(const std::string& path, const std::string& run_id) {
  if (!path.starts_with("/sys/fs/cgroup/") || has_dotdot(path) ||
      basename(path) != "cordon-" + run_id) {
    return true;
  }
  (void)native::kill_group(path);
  return native::remove_group(path) || errno != EBUSY;
}

// Only one of ours, for the same reason.
bool remove_private(const std::string& path, const Caller& caller) {
  if (path.empty() || has_dotdot(path) || parent(path) != private_directories(caller)) return true;
  return remove_private_tree(path);
}

// Only of one of ours, for the same reason.
Result<PrivateCopies> copies_of(const NoteContent& content, const Caller& caller) {
  const std::string& path = content.private_directory;
  if (path.empty() || has_dotdot(path) || parent(path) != private_directories(caller)) {
    return PrivateCopies{};
  }
  CORDON_TRY(copies, read_private_copies(path));
  return copies ? std::move(*copies) : PrivateCopies{};
}

// What was kept aside of the copies, as a later run tells it.
std::vector<Quarantined> held_handoffs(const PrivateCopies& copies,
                                       const std::vector<ChangeRecord>& records) {
  std::vector<Quarantined> told;
  for (const CopiedObject& object : copies.objects) {
    const auto in_it = [&](const ChangeRecord& one) { return one.top == object.what.path; };
    const auto first = std::ranges::find_if(records, in_it);
    if (first == records.end()) continue;
    told.push_back({object.what.path, object.what.reason, first->kept, true, {}});
  }
  return told;
}

// Only one of ours, for the same reason. Nothing if the run kept nothing.
std::optional<KeptFiles> kept_files(const NoteContent& content, const Caller& caller) {
  if (content.kept_directory != join(kept_directories(caller), content.run_id)) return std::nullopt;
  return KeptFiles(content.kept_directory);
}

// Nothing on an error: half a note would be taken for a whole one.
std::optional<std::string> read_whole(int fd) {
  std::string text;
  std::array<char, 16384> block;
  for (;;) {
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
}

bool is_abandoned(int fd) {
  constexpr time_t kAbandonedSeconds = 60;
  struct stat status {};
  return ::fstat(fd, &status) == 0 && ::time(nullptr) - status.st_mtime >= kAbandonedSeconds;
}

// "4711 (name) S 4710 ...": the parent and the time of the start, which tells a process from a
// later one with the same number. Nothing of a process that is gone, and of one whose every thread
// has ended: the first process of a pid namespace gets there after everything in it.
struct ProcessMark {
  pid_t parent = 0;
  std::string text;  // "PID START"
};
std::optional<ProcessMark> mark_of(pid_t process) {
  const Fd file(
      ::open(("/proc/" + std::to_string(process) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  const std::string stat = (file.valid() ? read_whole(file.get()) : std::nullopt).value_or("");
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) return std::nullopt;
  // From the state on: fields 3 (state), 4 (parent) and 22 (start).
  const std::vector<std::string_view> fields =
      split(std::string_view(stat).substr(name_end + 2), ' ');
  if (fields.size() < 20 || fields[0] == "Z" || fields[0] == "X") return std::nullopt;
  ProcessMark mark;
  mark.parent = static_cast<pid_t>(parse_number(fields[1]).value_or(0));
  mark.text = std::to_string(process) + " " + std::string(fields[19]);
  return mark;
}

std::vector<std::string> marks_in(const std::string& note) {
  std::vector<std::string> marks;
  for (const std::string_view line : split(note, '\n')) {
    if (!line.empty() && line.front() != '{') marks.emplace_back(line);
  }
  return marks;
}

bool lives(const std::string& mark) {
  const auto number = parse_number(std::string_view(mark).substr(0, mark.find(' ')));
  const auto now = number ? mark_of(static_cast<pid_t>(*number)) : std::nullopt;
  return now && now->text == mark;
}

// A supervisor that is killed takes its sandbox with it, but not at once: what was put back could
// be written again by a process that is still on its way. True when the last one is gone, which is
// waited for; false: the next start looks again.
bool processes_are_gone(const NoteContent& note, const std::vector<std::string>& marks,
                        const struct stat& file) {
  constexpr time_t kLaunchSeconds = 2;
  constexpr int kLooks = 50;
  constexpr long kBetweenNanoseconds = 10'000'000;
  if (marks.empty()) {
    // Killed before it could say whom it had started; or this process's own, which left it.
    return note.writer == ::getpid() || ::time(nullptr) - file.st_mtime >= kLaunchSeconds;
  }
  for (int look = 0; look < kLooks; ++look) {
    if (std::ranges::none_of(marks, lives)) return true;
    const timespec pause{0, kBetweenNanoseconds};
    ::nanosleep(&pause, nullptr);
  }
  return false;
}

// One dead run's note. While it is worked on its name counts the attempts ("ID~1"), so that one
// which ends Cordon (by a signal, or for want of memory) is known to the next start.
class Recovery {
 public:
  Recovery(int directory, std::string name, const Caller& caller, std::vector<Quarantined>& moved)
      : directory_(directory), name_(std::move(name)), caller_(caller), moved_(moved) {}

  void run() {
    const Fd file(::openat(directory_, name_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    // The lock is held by a supervisor that lives.
    if (!file.valid() || ::flock(file.get(), LOCK_EX | LOCK_NB) < 0) return;
    // The other start that waited for the lock has dealt with it.
    struct stat status {};
    if (::fstat(file.get(), &status) < 0 || status.st_nlink == 0) return;
    if (name_.front() == '.') {
      // Never finished: nothing was started. Its writer is about to lock it, or dead.
      if (is_abandoned(file.get())) ::unlinkat(directory_, name_.c_str(), 0);
      return;
    }
    // Of an earlier release, which filled a note in place.
    if (status.st_size == 0) {
      if (is_abandoned(file.get())) ::unlinkat(directory_, name_.c_str(), 0);
      return;
    }
    const std::string id = name_.substr(0, name_.find('~'));
    const std::string note = join(join(caller_.state_directory, "runs"), name_);
    const std::size_t tilde = name_.find('~');
    const auto attempts = tilde == std::string::npos
                              ? std::uint64_t{0}
                              : parse_number(name_.substr(tilde + 1)).value_or(kMostAttempts);
    if (attempts >= kMostAttempts) {
      moved_.push_back({".",
                        "unchecked: cleaning up after run " + id + " was cut off twice; remove " +
                            quote(note) + " when its project was looked through",
                        {}});
      return;
    }
    rename_to(id + "~" + std::to_string(attempts + 1));
    switch (work(file.get(), status, note)) {
      case Done::Yes:
        ::unlinkat(directory_, name_.c_str(), 0);
        return;
      case Done::Later:
        rename_to(id);
        return;
    }
  }

 private:
  enum class Done { Yes, Later };
  static constexpr std::uint64_t kMostAttempts = 2;
  // A start does not wait longer for a search that another start can do as well.
  static constexpr std::chrono::seconds kForAnother{5};

  void rename_to(const std::string& name) {
    if (::renameat2(directory_, name_.c_str(), directory_, name.c_str(), RENAME_NOREPLACE) == 0)
      name_ = name;
  }

  Done work(int file, const struct stat& status, const std::string& note) {
    const auto text = read_whole(file);
    const auto content = text ? decode(*text) : std::nullopt;
    if (!content) {
      moved_.push_back({".",
                        "unchecked: the note of an earlier run cannot be read; remove " +
                            quote(note) + " when its project was looked through",
                        {}});
      return Done::Later;
    }
    // Emptying a group ends what is in it.
    bool gone = true;
    for (const std::string& path : content->cgroups) {
      if (!remove_cgroup(path, content->run_id)) gone = false;
    }
    if (!gone || !processes_are_gone(*content, marks_in(*text), status)) return Done::Later;
    if (!content->stage_directory.empty()) return show_stage(*content);
    // Before anything is removed: what the run changed in its copies exists nowhere else.
    auto copies = copies_of(*content, caller_);
    if (!copies) {
      moved_.push_back({content->private_directory, "unchecked: " + message(copies.error()), {}});
      return Done::Later;
    }
    std::optional<KeptFiles> kept = kept_files(*content, caller_);
    if (kept && !kept->is_needed()) {
      kept->discard();
      // The tree is not judged again, but what the run changed in its copies may not be settled
      // yet.
      return settle(*copies, {}, *content);
    }
    const auto turn = SearchTurn::wait_for(caller_.state_directory, content->writable, kForAnother);
    if (!turn) {
      const std::string place = content->writable.empty() ? "." : content->writable.front().path;
      moved_.push_back({place, "unchecked: " + message(turn.error()), {}});
      return Done::Later;
    }
    std::set<std::string> git_directories;
    auto found = post_run_scan(content->writable, content->deny, caller_, content->snapshot,
                               join(caller_.state_directory, "handoff"), content->run_id,
                               kept ? &*kept : nullptr, content->roots, &git_directories);
    if (found) {
      if (auto noted = note_tips(*content, git_directories); !noted) {
        found = fail(std::move(noted).error());
      }
    }
    if (!found) {
      // What is left in the tree would be forgotten with the note: the next start looks again.
      const std::string place = content->writable.empty() ? "." : content->writable.front().path;
      moved_.push_back({place, "unchecked: " + message(found.error()), {}});
      return Done::Later;
    }
    moved_.insert(moved_.end(), found->begin(), found->end());
    if (kept) kept->discard();
    return settle(*copies, *found, *content);
  }

  // What a staged run wrote is on no project, and stays where it is until a person has decided.
  Done show_stage(const NoteContent& content) {
    const std::string& place = content.stage_directory;
    if (has_dotdot(place) || parent(place) != stage_directories(caller_.state_directory)) {
      return Done::Yes;
    }
    auto shown = settle_cut_stage(place, content.run_id, caller_);
    if (!shown) {
      moved_.push_back({place, "unchecked: " + message(shown.error()), {}});
      return Done::Later;
    }
    if (*shown) moved_.push_back(**shown);
    return Done::Yes;
  }

  // The dead run wrote tips as well.
  Result<void> note_tips(const NoteContent& content, std::set<std::string> directories) {
    directories.insert(content.snapshot.git_directories.begin(),
                       content.snapshot.git_directories.end());
    return add_new_tips(caller_.state_directory, directories, {},
                        content.tips.value_or(std::set<std::string>()));
  }

  // The copies go when everything that differs in them is kept aside, and not before.
  Done settle(const PrivateCopies& copies, const std::vector<Quarantined>& found,
              const NoteContent& content) {
    auto held = settle_held(copies, nullptr, found, content.writable, caller_, content.run_id);
    if (!held) {
      moved_.push_back({content.private_directory, "unchecked: " + message(held.error()), {}});
      return Done::Later;
    }
    for (const Quarantined& one : held_handoffs(copies, *held)) moved_.push_back(one);
    return remove_private(content.private_directory, caller_) ? Done::Yes : Done::Later;
  }

  int directory_;
  std::string name_;
  const Caller& caller_;
  std::vector<Quarantined>& moved_;
};

}  // namespace

std::string private_directories(const Caller& caller) {
  return join(caller.state_directory, "private");
}

std::string kept_directories(const Caller& caller) { return join(caller.state_directory, "kept"); }

RunNote::~RunNote() { remove(); }

Result<RunNote> RunNote::write(const Caller& caller, const NoteContent& content) {
  RunNote note;
  const std::string path = join(caller.state_directory, "runs");
  CORDON_TRY(directory, open_private_directory(path));
  note.directory_ = std::move(directory);
  // Under its name there is a whole note or none.
  const std::string unfinished = "." + content.run_id;
  note.file_ = Fd(::openat(note.directory_.get(), unfinished.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!note.file_.valid()) {
    return fail(setup_error("cannot write a note in " + quote(path), errno));
  }
  note.name_ = unfinished;
  note.cgroups_ = content.cgroups;
  note.private_directory_ = content.private_directory;
  note.kept_directory_ = content.kept_directory;
  const std::string text = encode(content);
  if (::flock(note.file_.get(), LOCK_EX) < 0 || write_whole(note.file_.get(), text) != 0 ||
      ::renameat2(note.directory_.get(), unfinished.c_str(), note.directory_.get(),
                  content.run_id.c_str(), RENAME_NOREPLACE) < 0) {
    return fail(setup_error("cannot write a note in " + quote(path), errno));
  }
  note.name_ = content.run_id;
  return note;
}

// Appended, so that whoever reads meanwhile finds the note whole. Without a guard the parent is
// this process. A line that cannot be written is missed only by a start right after a kill.
void RunNote::started(pid_t first_process) {
  if (!file_.valid()) return;
  std::string lines;
  const auto first = mark_of(first_process);
  if (first) lines.append(first->text).append("\n");
  const auto above = first && first->parent != ::getpid() ? mark_of(first->parent) : std::nullopt;
  if (above) lines.append(above->text).append("\n");
  [[maybe_unused]] const ssize_t written = ::write(file_.get(), lines.data(), lines.size());
}

void RunNote::remove() {
  const auto there = [](const std::string& path) { return ::access(path.c_str(), F_OK) == 0; };
  const bool gone = std::ranges::none_of(cgroups_, there) &&
                    (private_directory_.empty() || !there(private_directory_)) &&
                    (kept_directory_.empty() || !there(kept_directory_));
  if (gone && !name_.empty() && file_.valid()) ::unlinkat(directory_.get(), name_.c_str(), 0);
  leave();
}

void RunNote::leave() {
  name_.clear();
  file_.reset();
}

namespace {

// The names are read before anything is done about one: recovery renames and removes them.
class Notes {
 public:
  explicit Notes(const Caller& caller)
      : directory_(::open(join(caller.state_directory, "runs").c_str(),
                          O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    DirectoryNames listing;
    if (!directory_.valid() || !listing.read(directory_.get())) return;
    for (const DirectoryEntry& entry : listing.entries()) names_.emplace_back(entry.name);
  }

  [[nodiscard]] int directory() const { return directory_.get(); }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  // Of all runs that are not over.
  [[nodiscard]] std::vector<NoteContent> read(bool* unreadable = nullptr) const {
    std::vector<NoteContent> contents;
    for (const std::string& name : names_) {
      if (name.front() == '.') continue;
      const Fd file(::openat(directory_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
      const auto text = file.valid() ? read_whole(file.get()) : std::nullopt;
      if (auto content = text ? decode(*text) : std::nullopt) {
        contents.push_back(*std::move(content));
      } else if (file.valid() && unreadable != nullptr) {
        *unreadable = true;
      }
    }
    return contents;
  }

 private:
  Fd directory_;
  std::vector<std::string> names_;
};

bool share_a_tree(const NoteContent& content, const Effective& effective) {
  return std::ranges::any_of(content.writable, [&](const Grant& theirs) {
    return std::ranges::any_of(effective.write, [&](const Grant& ours) {
      return contains(theirs.path, ours.path) || contains(ours.path, theirs.path);
    });
  });
}

}  // namespace

std::vector<OtherRun> other_runs(const Caller& caller, const std::string& run_id) {
  std::vector<OtherRun> runs;
  for (const NoteContent& content : Notes(caller).read()) {
    if (content.run_id == run_id) continue;
    OtherRun run;
    if (kept_files(content, caller)) run.kept_directory = content.kept_directory;
    for (const Grant& grant : content.writable) run.writable.push_back(grant.path);
    for (const auto& [id, mark] : content.snapshot.protected_objects.marks()) run.held.insert(id);
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<OlderRun> older_runs(const Caller& caller, const Effective& effective) {
  std::vector<OlderRun> runs;
  if (effective.write.empty()) return runs;
  for (NoteContent& content : Notes(caller).read()) {
    if (!content.holds_by_mounts || !share_a_tree(content, effective)) continue;
    OlderRun run;
    run.id = content.run_id;
    for (const Grant& grant : content.writable) run.writable.push_back(grant.path);
    run.snapshot = std::move(content.snapshot);
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<RunAtWork> runs_at_work(const Caller& caller, const Effective& effective,
                                    const std::string& but) {
  std::vector<RunAtWork> runs;
  for (const NoteContent& content : Notes(caller).read())
    if (content.run_id != but && share_a_tree(content, effective))
      runs.push_back({content.run_id, content.writer});
  return runs;
}

std::vector<OtherBranches> other_branches(const Caller& caller, const std::string& run_id,
                                          const Effective& effective) {
  std::vector<OtherBranches> runs;
  if (effective.write.empty()) return runs;
  bool unreadable = false;
  for (NoteContent& content : Notes(caller).read(&unreadable)) {
    if (content.run_id == run_id || !share_a_tree(content, effective)) continue;
    OtherBranches run;
    for (const Grant& grant : content.writable) run.writable.push_back(grant.path);
    run.tips = std::move(content.tips);
    runs.push_back(std::move(run));
  }
  // Nobody knows which trees that run can write.
  if (unreadable) runs.emplace_back();
  return runs;
}

std::vector<Quarantined> recover_runs(const Caller& caller) {
  std::vector<Quarantined> moved;
  const Notes notes(caller);
  for (const std::string& name : notes.names())
    Recovery(notes.directory(), name, caller, moved).run();
  return moved;
}

}  // namespace cordon
