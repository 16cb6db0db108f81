// Walking a hostile tree
//
// Before a run and after it the trees that a command may write are walked. Whoever made them can
// make them deep, wide, closed or keep them in motion, so that the walk ends early, runs out of
// something or looks elsewhere. What it does not see would be neither held nor moved away.
//
//   Deep       There is no recursion: a frame on the heap for each level, and one path that grows
//              and shrinks. The way down is openat by a single name, which PATH_MAX does not bound.
//              Of the ancestors only the nearest 16 stay open.
//   Wide       getdents64 is shown to the visitor in portions of some 64,000 names. Children that
//              wait are names, packed behind each other on one stack, those of the deepest
//              directory on top: no descriptor and no allocation for each.
//   Spelled    Where a file system folds case, `.GIT` is `.git` to the host's tools. Such a name is
//              shown as the one that is known (folded_names.h).
//   Planted    Every directory is opened with O_DIRECTORY and O_NOFOLLOW. A link, a FIFO or a
//              device in the place of one that was listed is neither followed nor waited for: it
//              answers ENOTDIR and is passed over. The type and the inode of an entry are hints;
//              identity is that of the open descriptor.
//   Closed     Without the right to list, opening answers EACCES. A directory that can be listed
//              and not searched opens, and none of its children would; may_search() finds it. In
//              both cases the visitor decides: the survey holds such a directory as it is, the
//              search after the run opens it.
//   In motion  The way up is the parent's descriptor or, where that was given up, "..". Whoever
//              moves the lower directory meanwhile makes ".." lead where they want, out of the
//              tree too. So what is reached is compared with the identity from the way down, and
//              looked for once more by its path. If that is another directory as well, the walk is
//              an error: nobody may take this tree for searched. For the same reason a root may be
//              given as a descriptor, when its name could lead elsewhere by now.
//
// It ends: no link is followed, a directory has one parent, and the kernel has a finite tree of
// mounts. Mount points are crossed, since a grant covers what is mounted below it. The order is
// depth first, the last name first; nobody may rely on it.
//
// A path over 16 MiB, and any error that does not say "not there" or "not allowed", is noted with
// LookFailures: whoever started the walk has to ask it whether everything was seen.
//
// Nearly all of a large tree is as it was. Where KnownDirectories has what mattered in a directory
// and its change time is the same, that is shown in place of a new listing; where nothing mattered,
// it is not even opened (known_directories.cc has what makes this as good as reading).
#include "host/walk.h"

#include <sys/stat.h>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/path.h"
#include "base/text.h"
#include "host/folded_names.h"
#include "host/inspect.h"
#include "host/known_directories.h"
#include "host/resolve.h"

namespace cordon {
namespace {

// Enough to open children by name, also where reading is not allowed.
constexpr int kReopenDirectory = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
// Descriptors of ancestors kept open. A limit of 64 open files leaves room for them.
constexpr std::size_t kOpenAncestors = 16;
// Some 60,000 levels of the longest names.
constexpr std::size_t kLongestPath = std::size_t{16} << 20U;

}  // namespace

class TreeWalk {
 public:
  TreeWalk(const std::string& root, TreeVisitor& visitor, KnownDirectories* known = nullptr)
      : path_(root), visitor_(visitor), known_(known) {}

  Result<void> run(WalkedDirectory::State state) {
    if (path_ == "/") {
      Fd fd = open_canonical(path_, kOpenDirectory);
      const std::optional<FileInfo> seen = fd.valid() ? inspect_fd(fd.get()) : std::nullopt;
      if (seen) enter(std::move(fd), *seen, 0, state);
    } else {
      const Fd above = open_canonical(std::string(parent(path_)), kReopenDirectory);
      if (above.valid()) open(above.get(), std::string(basename(path_)), state);
    }
    return work();
  }

  Result<void> run_from(int descriptor, WalkedDirectory::State state) {
    Fd fd(::openat(descriptor, ".", kOpenDirectory));
    const std::optional<FileInfo> seen = inspect_fd(fd.valid() ? fd.get() : descriptor);
    if (fd.valid() && seen && may_search(*seen)) {
      enter(std::move(fd), *seen, basename(path_).size(), state);
      return work();
    }
    // Closed: it is opened by its name in the directory above.
    const Fd above = open_canonical(std::string(parent(path_)), kReopenDirectory);
    const std::string name(basename(path_));
    const auto named = above.valid() ? inspect_name(above.get(), name) : std::nullopt;
    if (seen && named && named->id == seen->id) open(above.get(), name, state);
    return work();
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  void wait(std::string_view name, WalkedDirectory::State state) { waiting_.push(name, state); }

 private:
  // Directories that wait, the last one on top: its name, then what is known of it.
  class Waiting {
   public:
    struct Tail {
      WalkedDirectory::State state;
      std::uint32_t length;
    };

    void push(std::string_view name, WalkedDirectory::State state) {
      const Tail tail{state, static_cast<std::uint32_t>(name.size())};
      std::array<char, sizeof tail> bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init)
      std::memcpy(bytes.data(), &tail, sizeof tail);
      packed_.append(name).append(bytes.data(), bytes.size());
    }

    WalkedDirectory::State pop(std::string& name) {
      Tail tail{};
      packed_.copy(static_cast<char*>(static_cast<void*>(&tail)), sizeof tail,
                   packed_.size() - sizeof tail);
      const std::size_t begin = packed_.size() - sizeof tail - tail.length;
      name.assign(packed_, begin, tail.length);
      packed_.resize(begin);
      return tail.state;
    }

    [[nodiscard]] std::size_t mark() const { return packed_.size(); }

   private:
    std::string packed_;
  };

  struct Frame {
    Fd descriptor;
    FileId id;
    std::size_t path_length;  // with this directory's own name
    std::size_t waiting;      // the stack below its children
  };

  Result<void> work() {
    std::string name;
    while (!frames_.empty()) {
      const Frame& top = frames_.back();
      if (waiting_.mark() == top.waiting) {
        CORDON_CHECK(leave());
        continue;
      }
      const WalkedDirectory::State state = waiting_.pop(name);
      open(top.descriptor.get(), name, state);
    }
    return {};
  }

  // The path of a closed child is made only if it is needed.
  void open(int parent_fd, const std::string& name, WalkedDirectory::State state) {
    if (can_be_passed(parent_fd, name, state)) return;
    Fd fd(::openat(parent_fd, name.c_str(), kOpenDirectory));
    if (!fd.valid() && errno != EACCES) return LookFailures::note(errno, name);
    std::optional<FileInfo> seen = fd.valid() ? inspect_fd(fd.get()) : std::nullopt;
    if (!fd.valid() || (seen && !may_search(*seen))) {
      fd = visitor_.open_closed({parent_fd, name, frames_.empty() ? path_ : join(path_, name)});
      seen = fd.valid() ? inspect_fd(fd.get()) : std::nullopt;
    }
    if (!seen) return;
    // The root stands in the path already.
    if (frames_.empty()) return enter(std::move(fd), *seen, basename(path_).size(), state);
    if (path_.size() + 1 + name.size() > kLongestPath)
      return LookFailures::note(ENAMETOOLONG, name);
    if (path_.back() != '/') path_ += '/';
    path_ += name;
    enter(std::move(fd), *seen, name.size(), state);
  }

  // A directory that has not changed and in which nothing matters.
  [[nodiscard]] bool can_be_passed(int parent_fd, const std::string& name,
                                   WalkedDirectory::State state) {
    if (known_ == nullptr || known_->empty() || frames_.empty() || visitor_.visits_all())
      return false;
    const auto seen = inspect_name(parent_fd, name);
    if (!seen || seen->kind != FileKind::Directory) return false;
    const auto packed = known_->find(*seen);
    return packed && packed->empty() && visitor_.knows_enough(join(path_, name), state);
  }

  // Of an open directory. Only its owner is told by these bits, and only an owner can have closed
  // it.
  [[nodiscard]] bool may_search(const FileInfo& directory) const {
    return user_ == 0 || directory.owner != user_ || (directory.mode & S_IXUSR) != 0;
  }

  void enter(Fd fd, const FileInfo& seen, std::size_t name_length, WalkedDirectory::State state) {
    frames_.push_back({std::move(fd), seen.id, path_.size(), waiting_.mark()});
    WalkedDirectory directory;
    directory.descriptor_ = frames_.back().descriptor.get();
    directory.id_ = seen.id;
    directory.name_ = std::string_view(path_).substr(path_.size() - name_length);
    directory.state_ = state;
    directory.names_ = &names_;
    directory.walk_ = this;
    show(directory, seen);
    if (frames_.size() > kOpenAncestors)
      frames_[frames_.size() - 1 - kOpenAncestors].descriptor.reset();
  }

  void show(WalkedDirectory& directory, const FileInfo& seen) {
    const bool known = known_ != nullptr && visitor_.knows_enough(path_, directory.state_);
    if (known) {
      if (const auto packed = known_->find(seen)) {
        names_.show(*packed);
        return visitor_.visit(directory);
      }
    }
    const std::int64_t read_ns = known ? change_clock() : 0;
    bool more = false;
    do {
      more = names_.read_portion(directory.descriptor_);
      directory.whole_ = directory.whole_ && !more;
      names_.spell(directory.descriptor_);
      if (known && directory.whole_ && names_.at_end()) {
        known_->keep(seen, directory.descriptor_, read_ns,
                     names_.pack([&](const auto& entry) { return visitor_.matters(entry); }));
      }
      visitor_.visit(directory);
    } while (more);
  }

  // Back to the parent: its descriptor may have been given up on the way down.
  Result<void> leave() {
    const Fd below = std::move(frames_.back().descriptor);
    frames_.pop_back();
    if (frames_.empty()) return {};
    Frame& up = frames_.back();
    path_.resize(up.path_length);
    if (up.descriptor.valid()) return {};
    Fd parent_fd(::openat(below.get(), "..", kReopenDirectory));
    std::optional<FileInfo> seen = parent_fd.valid() ? inspect_fd(parent_fd.get()) : std::nullopt;
    if (!seen || seen->id != up.id) {
      // A directory was moved meanwhile, so ".." leads elsewhere: come down again by name.
      parent_fd = open_canonical(path_, kReopenDirectory);
      seen = parent_fd.valid() ? inspect_fd(parent_fd.get()) : std::nullopt;
    }
    if (!seen || seen->id != up.id)
      return fail(
          setup_error(quote(path_.substr(0, 512)) + " was moved while the tree was searched", 0,
                      "try again when nothing else rearranges the tree"));
    up.descriptor = std::move(parent_fd);
    return {};
  }

  std::string path_;  // of the directory on top
  TreeVisitor& visitor_;
  KnownDirectories* known_;
  const uid_t user_ = ::geteuid();
  DirectoryNames names_;
  std::vector<Frame> frames_;
  Waiting waiting_;
};

const std::string& WalkedDirectory::path() const { return walk_->path(); }

void WalkedDirectory::descend(const DirectoryEntry& entry, State state) {
  walk_->wait(entry.name, state);
}

Fd TreeVisitor::open_closed(const ClosedDirectory& /*closed*/) { return Fd(); }

bool TreeVisitor::knows_enough(const std::string& /*path*/,
                               WalkedDirectory::State /*state*/) const {
  return false;
}

bool TreeVisitor::matters(const DirectoryEntry& /*entry*/) const { return true; }

Result<void> walk_tree(const std::string& root, WalkedDirectory::State state,
                       TreeVisitor& visitor) {
  return TreeWalk(root, visitor).run(state);
}

Result<void> walk_tree(int descriptor, const std::string& path, WalkedDirectory::State state,
                       TreeVisitor& visitor, KnownDirectories* known) {
  return TreeWalk(path, visitor, known).run_from(descriptor, state);
}

namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} * 1024;
constexpr std::size_t kPortion = 64000;

EntryType type_of_mode(mode_t mode) {
  if (S_ISDIR(mode)) return EntryType::Directory;
  if (S_ISREG(mode)) return EntryType::Regular;
  if (S_ISLNK(mode)) return EntryType::Symlink;
  return EntryType::Other;
}

// Some file systems leave the type out of the entry; only then is a stat needed.
EntryType listed_type_of(int descriptor, const struct dirent64& entry) {
  switch (entry.d_type) {
    case DT_DIR:
      return EntryType::Directory;
    case DT_REG:
      return EntryType::Regular;
    case DT_LNK:
      return EntryType::Symlink;
    case DT_UNKNOWN:
      break;
    default:
      return EntryType::Other;
  }
  struct stat status {};
  if (::fstatat(descriptor, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    LookFailures::note(errno, entry.d_name);
    return EntryType::Other;
  }
  return type_of_mode(status.st_mode);
}

bool is_dot(const char* name) {
  return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

}  // namespace

DirectoryNames::DirectoryNames() : buffer_(new std::uint64_t[kBufferBytes / 8]) {}

bool DirectoryNames::read(int descriptor) { return read_names(descriptor, SIZE_MAX) == End::Whole; }

bool DirectoryNames::read_portion(int descriptor) {
  return read_names(descriptor, kPortion) == End::Portion;
}

DirectoryNames::End DirectoryNames::read_names(int descriptor, std::size_t most) {
  arena_.clear();
  spans_.clear();
  entries_.clear();
  ssize_t got = 0;
  while (entries_.size() < most &&
         (got = ::getdents64(descriptor, buffer_.get(), kBufferBytes)) > 0) {
    const char* const begin = static_cast<const char*>(static_cast<const void*>(buffer_.get()));
    for (const char* at = begin; at < begin + got;) {
      const auto* entry = static_cast<const struct dirent64*>(static_cast<const void*>(at));
      at += entry->d_reclen;
      if (is_dot(entry->d_name)) continue;
      const std::size_t length = std::strlen(entry->d_name);
      spans_.push_back({arena_.size(), length});
      arena_.append(entry->d_name, length);
      entries_.push_back({{}, listed_type_of(descriptor, *entry), entry->d_ino});
    }
  }
  const int error = errno;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    entries_[i].name = std::string_view(arena_).substr(spans_[i].begin, spans_[i].length);
  at_end_ = got == 0;
  if (got < 0) LookFailures::note(error, "a directory");
  if (got < 0) return End::Failed;
  return got == 0 ? End::Whole : End::Portion;
}

// The name that is known leads to the same object, and it is no name of its own here: where case
// counts, that is a further link, or something that is mounted.
void DirectoryNames::spell(int descriptor) {
  for (DirectoryEntry& entry : entries_) {
    const std::string_view known = known_spelling(entry.name);
    if (known.empty() || find(known) != nullptr) continue;
    const auto listed = inspect_name(descriptor, std::string(entry.name));
    const auto there = inspect_name(descriptor, std::string(known));
    if (!listed || !there || listed->id != there->id) continue;
    if (there->kind == FileKind::Directory || there->links == 1) entry.name = known;
  }
}

namespace {

// Before its name.
struct PackedEntry {
  std::uint64_t inode;
  std::uint16_t length;
  std::uint16_t type;
};

}  // namespace

void DirectoryNames::pack_entry(const DirectoryEntry& entry, std::string& packed) {
  const PackedEntry head{entry.inode, static_cast<std::uint16_t>(entry.name.size()),
                         static_cast<std::uint16_t>(entry.type)};
  std::array<char, sizeof head> bytes{};
  std::memcpy(bytes.data(), &head, sizeof head);
  packed.append(bytes.data(), bytes.size()).append(entry.name);
}

void DirectoryNames::show(std::string_view packed) {
  entries_.clear();
  PackedEntry head{};
  while (packed.size() >= sizeof head) {
    std::memcpy(&head, packed.data(), sizeof head);
    packed.remove_prefix(sizeof head);
    const std::string_view name = packed.substr(0, head.length);
    entries_.push_back({name, static_cast<EntryType>(head.type), head.inode});
    packed.remove_prefix(name.size());
  }
}

const DirectoryEntry* DirectoryNames::find(std::string_view name) const {
  for (const DirectoryEntry& entry : entries_)
    if (entry.name == name) return &entry;
  return nullptr;
}

namespace {

bool is_socket(const Canonical& place) {
  const auto seen = inspect_path(place.path);
  return seen && S_ISSOCK(seen->mode) && seen->id == place.id;
}

enum class SocketList { OfPolicy, OfCeiling };

bool is_of_variable(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

// "$NAME/rest" and "${NAME}/rest": many sockets lie where the environment says. In a ceiling the
// one variable stands for the directory that systemd makes, since the environment is the caller's,
// who could name any other. Nothing if the variable is not set, or to no absolute path.
Result<std::optional<std::string>> socket_path(const std::string& text, const Caller& caller,
                                               SocketList list) {
  if (!text.starts_with('$')) return text;
  const bool braced = text.starts_with("${");
  const std::size_t begin = braced ? 2 : 1;
  std::size_t end = begin;
  while (end < text.size() && is_of_variable(text[end])) ++end;
  const std::string name = text.substr(begin, end - begin);
  const bool closed = !braced || (end < text.size() && text[end] == '}');
  const std::string rest = text.substr(std::min(text.size(), braced && closed ? end + 1 : end));
  if (name.empty() || !closed || !(rest.empty() || rest.starts_with('/'))) {
    return fail(
        policy_error("net.sockets lists " + quote(text) + ", where no variable ends",
                     "write \"$NAME/rest\", or \"./" + text + "\" for a file of that name"));
  }
  if (list == SocketList::OfCeiling) {
    if (name == "XDG_RUNTIME_DIR") return "/run/user/" + std::to_string(caller.uid) + rest;
    return fail(policy_error(
        "a ceiling lists " + quote(text) + ", and who is bounded by it could set $" + name,
        "write the path, or $XDG_RUNTIME_DIR, which is /run/user/UID there"));
  }
  const auto found = caller.environment.find(name);
  if (found == caller.environment.end() || !found->second.starts_with('/')) return std::nullopt;
  return found->second + rest;
}

Grant grant_of(const PathRule& rule, const Canonical& place) {
  return {rule.text,  place.lexical, place.path, Grant::Source::Policy,
          place.kind, place.id,      rule.origin};
}

}  // namespace

Result<std::vector<Grant>> resolve_sockets(const std::vector<PathRule>& rules, const Caller& caller,
                                           std::vector<Reduction>& reductions,
                                           std::vector<NamedPath>& named) {
  std::vector<Grant> sockets;
  for (const PathRule& rule : rules) {
    CORDON_TRY(text, socket_path(rule.text, caller, SocketList::OfPolicy));
    if (!text) {
      reductions.push_back(
          {"sockets", rule.text, std::nullopt, Reduction::Because::Nonexistent, rule.origin});
      continue;
    }
    CORDON_TRY(place, canonicalize(*text, rule.base, caller));
    named.push_back({place.lexical, place.path});
    if (place.kind == FileKind::Absent) {
      reductions.push_back(
          {"sockets", rule.text, std::nullopt, Reduction::Because::Nonexistent, rule.origin});
      continue;
    }
    if (!is_socket(place)) {
      const bool option = rule.origin == Origin::Option;
      return fail(policy_error((option ? "--socket names " : "net.sockets lists ") +
                                   quote(rule.text) + ", which is no socket",
                               option ? "grant files and directories with --read or --write"
                                      : "grant files and directories in [fs]"));
    }
    sockets.push_back(grant_of(rule, place));
  }
  return sockets;
}

Result<std::vector<Grant>> resolve_ceiling_sockets(const std::vector<PathRule>& rules,
                                                   const Caller& caller,
                                                   std::vector<NamedPath>& named) {
  std::vector<Grant> sockets;
  for (const PathRule& rule : rules) {
    CORDON_TRY(text, socket_path(rule.text, caller, SocketList::OfCeiling));
    if (!text) continue;
    CORDON_TRY(place, canonicalize(*text, rule.base, caller));
    named.push_back({place.lexical, place.path});
    if (is_socket(place)) sockets.push_back(grant_of(rule, place));
  }
  return sockets;
}

}  // namespace cordon
