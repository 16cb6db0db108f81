#include "run/run_note.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "backend/native/cgroup.h"
#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "config/node.h"
#include "host/aftermath.h"
#include "host/snapshot.h"
#include "host/tree_removal.h"

namespace cordon {
namespace {

Node texts(const std::vector<std::string>& values) {
  NodeList list;
  for (const std::string& value : values) list.emplace_back(value);
  return Node(std::move(list));
}

std::string encode(const NoteContent& content) {
  Node node{NodeMap{}};
  node.set("run_id", content.run_id);
  node.set("pid", Node(static_cast<std::uint64_t>(::getpid())));
  node.set("cgroups", texts(content.cgroups));
  node.set("private", content.private_directory);
  node.set("kept", content.kept_directory);
  NodeList writable;
  for (const Grant& grant : content.writable) writable.emplace_back(grant.path);
  node.set("writable", std::move(writable));
  NodeList deny;
  for (const DenyGlob& rule : content.deny) {
    deny.emplace_back(NodeList{Node(rule.written), Node(rule.anchor), Node(rule.pattern)});
  }
  node.set("deny", std::move(deny));
  node.set("snapshot", texts(write_snapshot(content.snapshot)));
  return write_json(node, JsonStyle::Compact) + "\n";
}

std::vector<std::string> list_of(const Node& node, std::string_view key) {
  std::vector<std::string> values;
  const Node* member = node.find(key);
  if (member == nullptr || member->list() == nullptr) return values;
  for (const Node& value : *member->list()) {
    if (value.text() != nullptr) values.push_back(*value.text());
  }
  return values;
}

NoteContent decode(const Node& node) {
  NoteContent content;
  if (const Node* id = node.find("run_id"); id != nullptr && id->text() != nullptr) {
    content.run_id = *id->text();
  }
  content.cgroups = list_of(node, "cgroups");
  if (const Node* path = node.find("private"); path != nullptr && path->text() != nullptr) {
    content.private_directory = *path->text();
  }
  if (const Node* path = node.find("kept"); path != nullptr && path->text() != nullptr) {
    content.kept_directory = *path->text();
  }
  for (const std::string& path : list_of(node, "writable")) {
    Grant grant;
    grant.written = grant.lexical = grant.path = path;
    grant.kind = FileKind::Directory;
    content.writable.push_back(std::move(grant));
  }
  const Node* deny = node.find("deny");
  for (const Node& rule : deny != nullptr && deny->list() != nullptr ? *deny->list() : NodeList{}) {
    const NodeList* parts = rule.list();
    if (parts == nullptr || parts->size() != 3) continue;
    const auto text = [&](std::size_t i) {
      return (*parts)[i].text() != nullptr ? *(*parts)[i].text() : std::string();
    };
    content.deny.push_back({text(0), text(1), text(2)});
  }
  content.snapshot = read_snapshot(list_of(node, "snapshot"));
  return content;
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

// Only one of ours, for the same reason. Nothing if the run kept nothing.
std::optional<KeptFiles> kept_files(const NoteContent& content, const Caller& caller) {
  if (content.kept_directory != join(kept_directories(caller), content.run_id)) return std::nullopt;
  return KeptFiles(content.kept_directory);
}

std::string read_whole(int fd) {
  std::string text;
  std::array<char, 16384> block;
  for (;;) {
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got <= 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
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
  const std::string stat = file.valid() ? read_whole(file.get()) : std::string();
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
bool processes_are_gone(const Node& note, const std::vector<std::string>& marks,
                        const struct stat& file) {
  constexpr time_t kLaunchSeconds = 2;
  constexpr int kLooks = 50;
  constexpr long kBetweenNanoseconds = 10'000'000;
  if (marks.empty()) {
    // Killed before it could say whom it had started; or this process's own, which left it.
    const Node* writer = note.find("pid");
    const auto* pid = writer != nullptr ? std::get_if<std::int64_t>(&writer->value) : nullptr;
    const bool own = pid != nullptr && *pid == ::getpid();
    return own || ::time(nullptr) - file.st_mtime >= kLaunchSeconds;
  }
  for (int look = 0; look < kLooks; ++look) {
    if (std::ranges::none_of(marks, lives)) return true;
    const timespec pause{0, kBetweenNanoseconds};
    ::nanosleep(&pause, nullptr);
  }
  return false;
}

void recover(int directory, const char* name, const Caller& caller, std::vector<Handoff>& moved) {
  const Fd file(::openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  // The lock is held by a supervisor that lives.
  if (!file.valid() || ::flock(file.get(), LOCK_EX | LOCK_NB) < 0) return;
  const std::string text = read_whole(file.get());
  // Its writer has made it and is about to lock and fill it; one that died there left an old one.
  struct stat status {};
  constexpr time_t kAbandonedSeconds = 60;
  if (::fstat(file.get(), &status) != 0) return;
  if (text.empty() && ::time(nullptr) - status.st_mtime < kAbandonedSeconds) return;
  // The first line is the note, each further one a process that it started.
  const std::vector<std::string> marks = marks_in(text);
  if (const auto node = read_json(text.substr(0, text.find('\n')), name)) {
    const NoteContent content = decode(*node);
    // Emptying a group ends what is in it.
    bool gone = true;
    for (const std::string& path : content.cgroups) {
      if (!remove_cgroup(path, content.run_id)) gone = false;
    }
    if (!gone || !processes_are_gone(*node, marks, status)) return;
    if (!remove_private(content.private_directory, caller)) gone = false;
    if (!gone) return;  // the next start looks again
    std::optional<KeptFiles> kept = kept_files(content, caller);
    if (kept && !kept->is_needed()) {
      kept->discard();
      ::unlinkat(directory, name, 0);
      return;
    }
    auto found = collect_handoff(content.writable, content.deny, caller, content.snapshot,
                                 join(caller.state_directory, "handoff"), content.run_id,
                                 kept ? &*kept : nullptr);
    if (!found) {
      // What is left in the tree would be forgotten with the note: the next start looks again.
      const std::string place = content.writable.empty() ? "." : content.writable.front().path;
      moved.push_back({place, "unchecked: " + message(found.error()), {}});
      return;
    }
    moved.insert(moved.end(), found->begin(), found->end());
    if (kept) kept->discard();
  }
  ::unlinkat(directory, name, 0);
}

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
  note.file_ = Fd(::openat(note.directory_.get(), content.run_id.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!note.file_.valid()) {
    return fail(setup_error("cannot write a note in " + quote(path), errno));
  }
  note.name_ = content.run_id;
  note.cgroups_ = content.cgroups;
  note.private_directory_ = content.private_directory;
  note.kept_directory_ = content.kept_directory;
  const std::string text = encode(content);
  if (::flock(note.file_.get(), LOCK_EX) < 0 ||
      ::write(note.file_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return fail(setup_error("cannot write a note in " + quote(path), errno));
  }
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

// Calls `each` with the directory of the notes and the name of every one.
template <typename Each>
void for_each_note(const Caller& caller, Each each) {
  const std::string path = join(caller.state_directory, "runs");
  struct Close {
    void operator()(DIR* directory) const { ::closedir(directory); }
  };
  const std::unique_ptr<DIR, Close> directory(::opendir(path.c_str()));
  if (!directory) return;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (entry->d_name[0] != '.') each(::dirfd(directory.get()), entry->d_name);
  }
}

}  // namespace

std::vector<OtherRun> other_runs(const Caller& caller, const std::string& run_id) {
  std::vector<OtherRun> runs;
  for_each_note(caller, [&](int directory, const char* name) {
    if (name == run_id) return;
    const Fd file(::openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file.valid()) return;
    const std::string text = read_whole(file.get());
    const auto node = read_json(text.substr(0, text.find('\n')), name);
    if (!node) return;
    const NoteContent content = decode(*node);
    OtherRun run;
    if (kept_files(content, caller)) run.kept_directory = content.kept_directory;
    for (const Grant& grant : content.writable) run.writable.push_back(grant.path);
    run.held = content.snapshot.protected_objects;
    runs.push_back(std::move(run));
  });
  return runs;
}

std::vector<Handoff> recover_runs(const Caller& caller) {
  std::vector<Handoff> moved;
  for_each_note(caller,
                [&](int directory, const char* name) { recover(directory, name, caller, moved); });
  return moved;
}

}  // namespace cordon
