// Why a directory need not be read twice
//
// Before a run and after it, writable trees are walked for names that matter: protected ones,
// denied ones, git directories. In a tree of 250,000 files that takes longer than everything else
// that a launch does, and nearly all of it finds what the walk before found. So each directory is
// kept with its identity, its change time and those of its entries that mattered, and as long as
// the change time is the same those entries are shown to the visitor instead of being read again.
//
// What makes that as good as reading:
//
//   A name is made, removed or replaced.  The kernel sets the change time (ctime) of the directory
//                                         with it. A program can set a modification time back; no
//                                         program can set a change time.
//   It happens in the very moment of the  A clock has ticks. A directory is kept only if its change
//   read.                                 time is clearly older than the read (is_surely_before).
//   An entry that was a file becomes a    That is a removal and a new name.
//   directory or a link.
//   The object behind a name changes.     What matters is looked at by the visitor itself, each
//                                         time. What does not matter is only a name.
//   The directory is closed or opened.    A mode is part of the change time.
//   Another directory stands there.       Its device and inode number differ, or its change time:
//                                         a number that is used again comes with a time of its own.
//   Something is mounted on it.           Its device or its inode number differs.
//   The clock of the machine is set back. The file says when it was written: if that is in the
//                                         future, it counts for nothing.
//   The policy changes.                   Which names matter is part of the name of the file. What
//                                         depends on the path of a directory is not kept at all
//                                         (TreeVisitor::knows_enough).
//   The file system keeps other times.    Only those that are known to keep them are taken: no
//                                         network, no FUSE, no overlay.
//   The file is damaged.                  It ends with its SHA-256.
//   Somebody writes the file.             It lies in Cordon's state directory, which no sandbox
//                                         shows; one of another owner or mode is not read.
//
// A second name of a protected file is looked for apart, by inode numbers (hard_links.cc).
#include "host/known_directories.h"

#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/fd.h"
#include "base/path.h"
#include "base/private_directory.h"
#include "host/private_file.h"

namespace cordon {
namespace {

constexpr std::string_view kMagic = "cordon directories 2\n";
// A tree with fewer directories is walked in less time than a file is read.
constexpr std::size_t kFewDirectories = 64;
// Some 200,000 directories; what is beyond is read each time.
constexpr std::size_t kMostBytes = std::size_t{16} << 20U;
constexpr std::size_t kMostTrees = 16;

constexpr std::int64_t kSecondNs = 1'000'000'000;

struct Header {
  std::int64_t written_ns = 0;
  std::uint64_t count = 0;
};

struct Entry {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t changed_ns = 0;
  std::uint64_t length = 0;  // of what stands behind it
};

template <typename T>
void put(std::string& bytes, const T& value) {
  std::array<char, sizeof value> raw;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::memcpy(raw.data(), &value, sizeof value);
  bytes.append(raw.data(), raw.size());
}

template <typename T>
bool take(std::string_view& bytes, T& value) {
  if (bytes.size() < sizeof value) return false;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return true;
}

std::string_view as_text(const Digest& digest) {
  return {static_cast<const char*>(static_cast<const void*>(digest.data())), digest.size()};
}

// Of statfs(2): file systems of this machine that set the change time of a directory with every
// name in it.
constexpr std::uint64_t kExt4 = 0xef53;
constexpr std::uint64_t kXfs = 0x58465342;
constexpr std::uint64_t kBtrfs = 0x9123683e;
constexpr std::uint64_t kTmpfs = 0x01021994;
constexpr std::uint64_t kF2fs = 0xf2f52010;

bool keeps_change_times(int descriptor) {
  struct statfs status {};
  if (::fstatfs(descriptor, &status) != 0) return false;
  constexpr std::array kKnown = {kExt4, kXfs, kBtrfs, kTmpfs, kF2fs};
  return std::ranges::find(kKnown, static_cast<std::uint64_t>(status.f_type)) != kKnown.end();
}

// The content of a file that nobody else can have written.
std::string read_own(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_uid != ::geteuid() || (status.st_mode & 077) != 0)
    return {};
  return read_all(fd.get(), 2 * kMostBytes).value_or(std::string());
}

// The longest unused ones go; a tree that is used has a young file.
void remove_oldest(const Fd& directory) {
  const Fd copy(::openat(directory.get(), ".", kOpenDirectory));
  DIR* listing = copy.valid() ? ::fdopendir(::dup(copy.get())) : nullptr;
  if (listing == nullptr) return;
  std::vector<std::pair<std::int64_t, std::string>> files;
  while (const struct dirent* entry = ::readdir(listing)) {
    const std::string name = entry->d_name;
    const auto seen = inspect_name(directory.get(), name);
    if (seen && seen->kind == FileKind::Regular) files.emplace_back(seen->changed_ns, name);
  }
  ::closedir(listing);
  std::ranges::sort(files);
  for (std::size_t i = 0; i + kMostTrees < files.size(); ++i)
    ::unlinkat(directory.get(), files[i].second.c_str(), 0);
}

}  // namespace

std::size_t KnownDirectories::HashId::operator()(const FileId& id) const {
  return std::hash<std::uint64_t>()(id.inode * 0x9e3779b97f4a7c15U ^ id.device);
}

std::shared_ptr<KnownDirectories> KnownDirectories::read(const std::string& state_directory,
                                                         std::string_view tree,
                                                         const Digest& rules) {
  auto known = std::make_shared<KnownDirectories>();
  known->directory_ = join(state_directory, "directories");
  std::string key(kMagic);
  key.append(as_text(rules)).append(tree);
  known->name_ = sha256_hex(key).substr(0, 32);
  known->bytes_ = read_own(join(known->directory_, known->name_));
  known->decode(known->bytes_);
  return known;
}

void KnownDirectories::decode(std::string_view bytes) {
  if (!bytes.starts_with(kMagic) || bytes.size() < kMagic.size() + sizeof(Digest)) return;
  const std::string_view digest = bytes.substr(bytes.size() - sizeof(Digest));
  bytes.remove_suffix(digest.size());
  if (digest != as_text(sha256(bytes))) return;
  bytes.remove_prefix(kMagic.size());
  Header header;
  if (!take(bytes, header) || header.written_ns > change_clock()) return;
  if (header.count > bytes.size() / sizeof(Entry)) return;
  known_.reserve(header.count);
  Entry entry;
  while (take(bytes, entry) && entry.length <= bytes.size()) {
    known_[{entry.device, entry.inode}] = {entry.changed_ns, bytes.substr(0, entry.length), false};
    bytes.remove_prefix(entry.length);
  }
}

std::optional<std::string_view> KnownDirectories::find(const FileInfo& directory) {
  const auto found = known_.find(directory.id);
  if (found == known_.end() || found->second.changed_ns != directory.changed_ns) return {};
  found->second.met = true;
  return found->second.packed;
}

bool KnownDirectories::tells_changes(const FileId& id, int descriptor) {
  const auto [found, is_new] = devices_.try_emplace(id.device, false);
  if (is_new) found->second = keeps_change_times(descriptor);
  return found->second;
}

void KnownDirectories::keep(const FileInfo& directory, int descriptor, std::int64_t read_ns,
                            std::string packed) {
  if (!is_surely_before(directory.changed_ns, read_ns)) return;
  if (!tells_changes(directory.id, descriptor)) return;
  const std::size_t size = packed.size() + sizeof(Entry);
  if (kept_bytes_ + bytes_.size() + size > kMostBytes) return;
  kept_bytes_ += size;
  ++added_;
  std::string& place = packed_[directory.id];
  place = std::move(packed);
  known_[directory.id] = {directory.changed_ns, place, true};
}

std::string KnownDirectories::encode() const {
  std::string bytes(kMagic);
  Header header{change_clock(), 0};
  for (const auto& [id, known] : known_) header.count += known.met ? 1 : 0;
  put(bytes, header);
  for (const auto& [id, known] : known_) {
    if (!known.met) continue;
    put(bytes, Entry{id.device, id.inode, known.changed_ns, known.packed.size()});
    bytes.append(known.packed);
  }
  const Digest digest = sha256(bytes);
  return bytes.append(as_text(digest));
}

void KnownDirectories::write() {
  // A few directories that are read again cost less than writing all of them down.
  const auto met = static_cast<std::size_t>(
      std::ranges::count_if(known_, [](const auto& one) { return one.second.met; }));
  const std::size_t changed = added_ + (known_.size() - met);
  if (met < kFewDirectories || changed * 16 < met) return;
  auto directory = open_private_directory(directory_);
  if (!directory) return;
  if (replace_file(directory->get(), name_, encode(), kOwnerOnlyFile) == 0)
    remove_oldest(*directory);
}

bool is_surely_before(std::int64_t changed_ns, std::int64_t moment_ns) {
  constexpr std::int64_t kTwoTicks = 20'000'000;  // of a kernel with 100 in a second
  const std::int64_t grain = changed_ns % kSecondNs == 0 ? 2 * kSecondNs : kTwoTicks;
  return changed_ns < moment_ns - grain;
}

std::int64_t change_clock() {
  struct timespec now {};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return std::int64_t{now.tv_sec} * kSecondNs + now.tv_nsec;
}

}  // namespace cordon
