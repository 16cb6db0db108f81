#include "host/kept_files.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>

#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "host/inspect.h"
#include "host/private_file.h"
#include "host/put_back.h"
#include "host/tree_copy.h"
#include "host/walk.h"

namespace cordon {
namespace {

constexpr const char* kName = "list";
constexpr std::string_view kFirst = "cordon-kept/1";
constexpr std::size_t kFields = 12;
// More than the most entries with the longest paths there can be.
constexpr std::size_t kMostListBytes = std::size_t{128} * 1024 * 1024;

constexpr std::array kKinds = {HoldKind::Git,       HoldKind::Shell,    HoldKind::Editor,
                               HoldKind::Agent,     HoldKind::Ssh,      HoldKind::Path,
                               HoldKind::Autostart, HoldKind::Cron,     HoldKind::Denied,
                               HoldKind::Build,     HoldKind::Operator, HoldKind::ReadOnly};

Error malformed() {
  return setup_error("the list of what was kept before a run cannot be understood", 0,
                     "it lies in kept/ of the state directory, with the contents beside it");
}

// A path has any byte but NUL, so NUL ends every field.
void add_field(std::string& text, std::string_view field) {
  text.append(field);
  text.push_back('\0');
}

void add_field(std::string& text, std::uint64_t number) { add_field(text, std::to_string(number)); }

std::optional<KeptEntry::Type> kept_type_of(std::string_view field) {
  using Type = KeptEntry::Type;
  for (const Type type : {Type::File, Type::Directory, Type::Link, Type::Other, Type::WayDirectory})
    if (field.size() == 1 && field.front() == static_cast<char>(type)) return type;
  return std::nullopt;
}

std::optional<HoldKind> hold_kind_of(std::string_view field) {
  for (const HoldKind kind : kKinds)
    if (name_of(kind) == field) return kind;
  return std::nullopt;
}

std::optional<KeptEntry> read_entry(std::span<const std::string_view> fields) {
  KeptEntry entry;
  const auto type = kept_type_of(fields[0]);
  const auto kind = hold_kind_of(fields[2]);
  if (!type || !kind || fields[3].empty() || fields[3].front() != '/') return std::nullopt;
  std::array<std::uint64_t, 7> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = parse_number(fields[4 + i]);
    if (!number) return std::nullopt;
    numbers[i] = *number;
  }
  entry.type = *type;
  entry.form = fields[1] == "config" ? KeptPath::Form::GitConfig : KeptPath::Form::File;
  entry.kind = *kind;
  entry.path = fields[3];
  entry.id = {numbers[0], numbers[1]};
  entry.mode = static_cast<std::uint32_t>(numbers[2]);
  entry.owner = static_cast<std::uint32_t>(numbers[3]);
  entry.group = static_cast<std::uint32_t>(numbers[4]);
  entry.links = numbers[5];
  entry.modified_ns = static_cast<std::int64_t>(numbers[6]);
  entry.payload = fields[11];
  // The name of a content is a number, whoever wrote the list.
  if (*type == KeptEntry::Type::File && !parse_number(entry.payload)) return std::nullopt;
  return entry;
}

}  // namespace

Result<void> write_kept_list(int directory, std::span<const KeptEntry> entries) {
  std::string text;
  add_field(text, kFirst);
  for (const KeptEntry& entry : entries) {
    add_field(text, std::string_view(reinterpret_cast<const char*>(&entry.type), 1));
    add_field(text, entry.form == KeptPath::Form::GitConfig ? "config" : "");
    add_field(text, name_of(entry.kind));
    add_field(text, entry.path);
    for (const std::uint64_t number :
         {entry.id.device, entry.id.inode, std::uint64_t{entry.mode}, std::uint64_t{entry.owner},
          std::uint64_t{entry.group}, entry.links, static_cast<std::uint64_t>(entry.modified_ns)})
      add_field(text, number);
    add_field(text, entry.payload);
  }
  if (const int error = put_file(directory, kName, text, 0600); error != 0)
    return fail(setup_error("cannot write down what is kept of protected files", error));
  return {};
}

void give_up_kept_list(int directory) { (void)::unlinkat(directory, kName, 0); }

Result<std::optional<std::vector<KeptEntry>>> read_kept_list(int directory) {
  if (!inspect_name(directory, kName)) return std::nullopt;
  const auto text = read_regular(directory, kName, kMostListBytes);
  if (!text) return fail(malformed());
  std::vector<std::string_view> fields = split(*text, '\0');
  if (fields.size() < 2 || fields.front() != kFirst || !fields.back().empty())
    return fail(malformed());
  const std::span<const std::string_view> rest =
      std::span<const std::string_view>(fields).subspan(1, fields.size() - 2);
  if (rest.size() % kFields != 0) return fail(malformed());
  std::vector<KeptEntry> entries;
  for (std::size_t at = 0; at < rest.size(); at += kFields) {
    auto entry = read_entry(rest.subspan(at, kFields));
    if (!entry) return fail(malformed());
    entries.push_back(std::move(*entry));
  }
  return std::optional(std::move(entries));
}

namespace {

constexpr std::size_t kMostKeptEntries = 16384;
constexpr std::uint64_t kMostKeptBytes = std::uint64_t{256} * 1024 * 1024;
constexpr int kDeepestKept = 64;
constexpr const char* kLockName = "lock";

constexpr const char* kCure = "grant the directories beside it instead of the one above";

Error cannot_keep(const std::string& path, const std::string& why) {
  return {
      .kind = ErrorKind::Unsupported,
      .what = "the protected " + quote(path) + " cannot be kept for the time of the run: " + why,
      .hint = kCure};
}

Error cannot_keep(const std::string& path, int error_number) {
  return setup_error("the protected " + quote(path) + " cannot be kept for the time of the run",
                     error_number, kCure);
}

// The original of a path, as another run that is not over has it.
class Originals {
 public:
  Result<void> add(const OtherRun& run) {
    Known known{run, {}, Fd()};
    if (!run.kept_directory.empty()) {
      known.contents =
          Fd(::open(run.kept_directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (known.contents.valid()) {
        CORDON_TRY(entries, read_kept_list(known.contents.get()));
        if (entries) known.entries = std::move(*entries);
      }
      // It waits for the lock that is held here, so its command has not been started; or it has
      // put everything back and is about to remove its note.
      if (known.entries.empty()) return {};
    }
    runs_.push_back(std::move(known));
    return {};
  }

  struct Found {
    std::vector<KeptEntry> entries;  // of the path and of what is below it
    int contents = -1;
    bool appeared = false;  // it was not there when the other run began
  };
  // Nothing if no other run can have touched it.
  [[nodiscard]] std::optional<Found> of(const std::string& path, FileId now) const {
    for (const Known& known : runs_) {
      const auto covers = [&](const std::string& root) { return contains(root, path); };
      if (std::ranges::none_of(known.run.writable, covers)) continue;
      Found found;
      found.contents = known.contents.get();
      for (const KeptEntry& entry : known.entries)
        if (entry.type != KeptEntry::Type::WayDirectory && contains(path, entry.path))
          found.entries.push_back(entry);
      if (!found.entries.empty()) return found;
      if (known.run.held.contains(now)) continue;
      found.appeared = true;
      return found;
    }
    return std::nullopt;
  }

  // The directory itself may have been exchanged by another run.
  [[nodiscard]] std::optional<KeptEntry> way(const std::string& path) const {
    for (const Known& known : runs_)
      for (const KeptEntry& entry : known.entries)
        if (entry.type == KeptEntry::Type::WayDirectory && entry.path == path) return entry;
    return std::nullopt;
  }

 private:
  struct Known {
    const OtherRun& run;
    std::vector<KeptEntry> entries;
    Fd contents;
  };
  std::vector<Known> runs_;
};

class Keeper {
 public:
  Keeper(int into, const Originals& originals) : into_(into), originals_(originals) {}

  Result<void> keep(const KeptPath& path) {
    const Fd above = open_canonical(std::string(parent(path.path)), O_PATH | O_DIRECTORY);
    const std::string name(basename(path.path));
    const auto seen = above.valid() ? inspect_name(above.get(), name) : std::nullopt;
    if (!seen) return {};  // gone since it was looked at
    if (auto original = originals_.of(path.path, seen->id)) return adopt(*original);
    return object(above.get(), name, path.path, path, 0);
  }

  void way(const std::string& path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return;
    if (const auto original = originals_.way(path)) return entries_.push_back(*original);
    KeptEntry entry = described(status, path);
    entry.type = KeptEntry::Type::WayDirectory;
    entries_.push_back(std::move(entry));
  }

  // A name that is not known could lead the command's change to where nobody looks for it.
  [[nodiscard]] Result<void> check_links() const {
    std::map<FileId, std::uint64_t> names;
    for (const KeptEntry& entry : entries_) ++names[entry.id];
    for (const KeptEntry& entry : entries_)
      if (entry.type == KeptEntry::Type::File && entry.links > names[entry.id])
        return fail(cannot_keep(entry.path, "it is one file with another that lies elsewhere"));
    return {};
  }

  // Parents before what is in them.
  std::vector<KeptEntry> take() {
    std::ranges::sort(entries_, {}, &KeptEntry::path);
    return std::move(entries_);
  }

 private:
  static KeptEntry described(const struct stat& status, const std::string& path) {
    KeptEntry entry;
    entry.path = path;
    entry.id = looked(status).id;
    entry.mode = status.st_mode & 07777;
    entry.owner = status.st_uid;
    entry.group = status.st_gid;
    entry.links = status.st_nlink;
    entry.modified_ns =
        std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
    return entry;
  }

  Result<void> object(int above, const std::string& name, const std::string& path,
                      const KeptPath& top, int depth) {
    if (entries_.size() >= kMostKeptEntries)
      return fail(cannot_keep(top.path, "there are more than " + std::to_string(kMostKeptEntries) +
                                            " protected files"));
    if (depth > kDeepestKept) return fail(cannot_keep(path, "it lies too deep"));
    struct stat status {};
    if (::fstatat(above, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      return errno == ENOENT ? Result<void>() : fail(cannot_keep(path, errno));
    KeptEntry entry = described(status, path);
    entry.kind = top.kind;
    entry.form = path == top.path ? top.form : KeptPath::Form::File;
    entry.type = KeptEntry::Type::Other;
    if (S_ISLNK(status.st_mode)) {
      const auto target = read_link(above, name);
      if (!target) return fail(cannot_keep(path, errno));
      entry.type = KeptEntry::Type::Link;
      entry.payload = *target;
    } else if (S_ISREG(status.st_mode)) {
      entry.type = KeptEntry::Type::File;
      CORDON_CHECK(content(above, name, entry));
    } else if (S_ISDIR(status.st_mode)) {
      entry.type = KeptEntry::Type::Directory;
      entries_.push_back(std::move(entry));
      return children(above, name, path, top, depth);
    }
    entries_.push_back(std::move(entry));
    return {};
  }

  Result<void> children(int above, const std::string& name, const std::string& path,
                        const KeptPath& top, int depth) {
    const Fd fd(::openat(above, name.c_str(),
                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd.valid()) return fail(cannot_keep(path, errno));
    DirectoryNames names;
    names.read(fd.get());
    for (const DirectoryEntry& child : names.entries())
      CORDON_CHECK(
          object(fd.get(), std::string(child.name), join(path, child.name), top, depth + 1));
    return {};
  }

  Result<void> content(int above, const std::string& name, KeptEntry& entry) {
    const Fd from(::openat(above, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!from.valid()) return fail(cannot_keep(entry.path, errno));
    entry.payload = std::to_string(entries_.size());
    const Fd to(::openat(into_, entry.payload.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!to.valid()) return fail(cannot_keep(entry.path, errno));
    std::array<char, 65536> block;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    for (;;) {
      const ssize_t got = ::read(from.get(), block.data(), block.size());
      if (got == 0) return {};
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail(cannot_keep(entry.path, errno));
      bytes_ += static_cast<std::uint64_t>(got);
      if (bytes_ > kMostKeptBytes)
        return fail(cannot_keep(
            entry.path, "with the others it is larger than " + format_size(kMostKeptBytes)));
      for (ssize_t done = 0; done < got;) {
        const ssize_t put =
            ::write(to.get(), block.data() + done, static_cast<std::size_t>(got - done));
        if (put < 0 && errno != EINTR) return fail(cannot_keep(entry.path, errno));
        if (put > 0) done += put;
      }
    }
  }

  // What another run kept is never written again, so one file serves both.
  Result<void> adopt(const Originals::Found& found) {
    for (KeptEntry entry : found.entries) {
      if (entry.type == KeptEntry::Type::File) {
        const std::string name = std::to_string(entries_.size());
        if (::linkat(found.contents, entry.payload.c_str(), into_, name.c_str(), 0) != 0)
          return fail(cannot_keep(entry.path, errno));
        entry.payload = name;
      }
      entry.links = 1;  // its names were counted when it was kept
      entries_.push_back(std::move(entry));
    }
    return {};
  }

  const int into_;
  const Originals& originals_;
  std::vector<KeptEntry> entries_;
  std::uint64_t bytes_ = 0;
};

Result<Fd> locked(const std::string& outer) {
  CORDON_TRY(directory, open_private_directory(outer));
  Fd lock(::openat(directory.get(), kLockName, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  while (lock.valid() && ::flock(lock.get(), LOCK_EX) != 0)
    if (errno != EINTR) return fail(setup_error("cannot lock " + quote(outer), errno));
  if (!lock.valid()) return fail(setup_error("cannot lock " + quote(outer), errno));
  return lock;
}

Fd open_kept(const std::string& directory) {
  return Fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// The contents are on the disk before the list says that they are there: after a power failure a
// complete list with empty contents would put empty files back. Many files are flushed with
// everything else of their file system, which costs as much whatever their number.
int sync_contents(int into, std::span<const KeptEntry> entries) {
  constexpr std::ptrdiff_t kOneByOne = 64;
  const auto is_file = [](const KeptEntry& entry) { return entry.type == KeptEntry::Type::File; };
  if (std::ranges::count_if(entries, is_file) > kOneByOne) return ::syncfs(into) < 0 ? errno : 0;
  for (const KeptEntry& entry : entries) {
    if (!is_file(entry)) continue;
    const Fd content(::openat(into, entry.payload.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!content.valid() || ::fdatasync(content.get()) < 0) return errno;
  }
  return 0;
}

Result<void> keep_all(const std::string& directory, const Keeping& keeping,
                      std::span<const OtherRun> others) {
  CORDON_TRY(into, open_private_directory(directory));
  Originals originals;
  for (const OtherRun& run : others) CORDON_CHECK(originals.add(run));
  Keeper keeper(into.get(), originals);
  for (const KeptPath& path : keeping.paths) CORDON_CHECK(keeper.keep(path));
  for (const std::string& way : keeping.trace) keeper.way(way);
  CORDON_CHECK(keeper.check_links());
  const std::vector<KeptEntry> entries = keeper.take();
  if (const int error = sync_contents(into.get(), entries); error != 0)
    return fail(setup_error("cannot keep protected files on the disk", error));
  return write_kept_list(into.get(), entries);
}

}  // namespace

Result<KeptFiles> KeptFiles::keep(std::string directory, const Keeping& keeping,
                                  std::span<const OtherRun> others) {
  CORDON_TRY(lock, locked(std::string(parent(directory))));
  KeptFiles kept(std::move(directory));
  if (Result<void> done = keep_all(kept.directory_, keeping, others); !done) {
    kept.discard();
    return fail(std::move(done).error());
  }
  return kept;
}

Result<void> KeptFiles::put_back(std::span<const std::string> roots, Quarantine& quarantine,
                                 TreeSnapshot& known) {
  CORDON_TRY(lock, locked(std::string(parent(directory_))));
  lock_ = std::move(lock);
  const Fd contents = open_kept(directory_);
  if (!contents.valid()) return fail(setup_error("cannot open " + quote(directory_), errno));
  CORDON_TRY(entries, read_kept_list(contents.get()));
  if (!entries)
    return fail(setup_error("what was kept of protected files is gone from " + quote(directory_), 0,
                            "look at the protected files of the project yourself"));
  PutBack(*entries, contents.get(), roots, quarantine, known).run();
  return {};
}

bool KeptFiles::is_needed() const {
  const Fd contents = open_kept(directory_);
  if (!contents.valid()) return errno != ENOENT;
  const auto entries = read_kept_list(contents.get());
  return !entries || entries->has_value();
}

void KeptFiles::discard() {
  if (const Fd contents = open_kept(directory_); contents.valid())
    give_up_kept_list(contents.get());
  (void)remove_private_tree(directory_);
  lock_.reset();
}

}  // namespace cordon
