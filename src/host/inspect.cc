#include "host/inspect.h"

#include <sys/sysmacros.h>

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <string_view>
#include <utility>

#include "base/path.h"
#include "base/text.h"
#include "host/walk.h"
#include "sys/calls.h"

namespace cordon {
namespace {

thread_local LookFailures* collector = nullptr;

// Reasons that say something about the object, not about this machine's state.
bool is_expected(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case EACCES:
    case EXDEV:
    case ENXIO:
      return true;
    default:
      return false;
  }
}

int open_retrying(int directory, const std::string& path, int flags, std::uint64_t resolve) {
  // EAGAIN: a rename or mount raced with the lookup and the kernel could not prove containment.
  for (int attempt = 0; attempt < 64; ++attempt) {
    const int fd = sys::openat2(directory, path.c_str(),
                                static_cast<std::uint64_t>(flags | O_CLOEXEC), 0, resolve);
    if (fd >= 0) return fd;
    if (fd != -EAGAIN && fd != -EINTR) {
      LookFailures::note(-fd, path);
      errno = -fd;
      return -1;
    }
  }
  LookFailures::note(EAGAIN, path);
  errno = EAGAIN;
  return -1;
}

}  // namespace

LookFailures::LookFailures() : outer_(collector) { collector = this; }

LookFailures::~LookFailures() { collector = outer_; }

void LookFailures::note(int error_number, std::string_view what) {
  if (collector == nullptr || is_expected(error_number) || collector->error_number_ != 0) return;
  collector->error_number_ = error_number;
  collector->what_ = what;
}

Result<void> LookFailures::check() const {
  if (error_number_ == 0) return {};
  // Cordon's own filter answers so inside, where no run can be started anyway.
  if (error_number_ == ENOSYS) {
    return fail(
        {.kind = ErrorKind::Unavailable,
         .what = "openat2 is missing, and paths cannot be judged without it",
         .hint = "this is already inside a sandbox that forbids it; runs cannot be nested"});
  }
  const bool files = error_number_ == EMFILE || error_number_ == ENFILE;
  return fail(setup_error(
      "the granted trees cannot be searched: " + quote(what_), error_number_,
      files ? "nothing may stay unseen there: raise the limit of open files (ulimit -n)"
            : "nothing may stay unseen there; free what is short, or look at the disk"));
}

FileInfo looked(const struct stat& status) {
  FileInfo result;
  if (S_ISDIR(status.st_mode)) result.kind = FileKind::Directory;
  if (S_ISREG(status.st_mode)) result.kind = FileKind::Regular;
  result.symlink = S_ISLNK(status.st_mode);
  result.id = {status.st_dev, status.st_ino};
  result.links = status.st_nlink;
  result.mode = status.st_mode;
  result.owner = status.st_uid;
  result.size = static_cast<std::uint64_t>(status.st_size);
  result.changed_ns = std::int64_t{status.st_ctim.tv_sec} * 1'000'000'000 + status.st_ctim.tv_nsec;
  return result;
}

namespace {

std::int64_t nanoseconds(const struct statx_timestamp& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// struct stat has no birth time.
std::optional<FileInfo> look_with(int directory, const char* name, int flags) {
  struct statx status {};
  if (::statx(directory, name, AT_STATX_SYNC_AS_STAT | flags, STATX_BASIC_STATS | STATX_BTIME,
              &status) != 0)
    return std::nullopt;
  FileInfo result;
  if (S_ISDIR(status.stx_mode)) result.kind = FileKind::Directory;
  if (S_ISREG(status.stx_mode)) result.kind = FileKind::Regular;
  result.symlink = S_ISLNK(status.stx_mode);
  result.id = {::makedev(status.stx_dev_major, status.stx_dev_minor), status.stx_ino};
  result.links = status.stx_nlink;
  result.mode = status.stx_mode;
  result.owner = status.stx_uid;
  result.size = status.stx_size;
  result.changed_ns = nanoseconds(status.stx_ctime);
  if ((status.stx_mask & STATX_BTIME) != 0) result.born_ns = nanoseconds(status.stx_btime);
  return result;
}

}  // namespace

std::optional<FileInfo> inspect_name(int directory, const std::string& name) {
  auto seen = look_with(directory, name.c_str(), AT_SYMLINK_NOFOLLOW);
  if (!seen) LookFailures::note(errno, name);
  return seen;
}

std::optional<FileInfo> inspect_fd(int descriptor) {
  auto seen = look_with(descriptor, "", AT_EMPTY_PATH);
  if (!seen) LookFailures::note(errno, "an open file");
  return seen;
}

std::optional<FileInfo> inspect_path(const std::string& path) {
  return inspect_name(AT_FDCWD, path);
}

Fd open_beneath(int directory, std::string_view path, int flags) {
  constexpr std::uint64_t kResolve =
      sys::kResolveBeneath | sys::kResolveNoSymlinks | sys::kResolveNoMagicLinks;
  Fd held;
  int from = directory;
  while (path.size() >= PATH_MAX) {
    const std::size_t cut = path.rfind('/', PATH_MAX - 1);
    if (cut == std::string_view::npos || cut == 0) return Fd();
    held =
        Fd(open_retrying(from, std::string(path.substr(0, cut)), O_PATH | O_DIRECTORY, kResolve));
    if (!held.valid()) return Fd();
    from = held.get();
    path.remove_prefix(cut + 1);
  }
  return Fd(
      open_retrying(from, path.empty() ? std::string(".") : std::string(path), flags, kResolve));
}

Fd open_canonical(const std::string& path, int flags) {
  if (path.size() < PATH_MAX)
    return Fd(
        open_retrying(AT_FDCWD, path, flags, sys::kResolveNoSymlinks | sys::kResolveNoMagicLinks));
  const Fd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  return open_beneath(root.get(), std::string_view(path).substr(1), flags);
}

std::optional<std::string> read_followed(const std::string& path, std::size_t limit) {
  const Fd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  const auto seen = place.valid() ? inspect_fd(place.get()) : std::nullopt;
  if (!seen || seen->kind != FileKind::Regular) return std::nullopt;
  const std::string self = "/proc/self/fd/" + std::to_string(place.get());
  const Fd file(::open(self.c_str(), O_RDONLY | O_CLOEXEC));
  return file.valid() ? read_all(file.get(), limit) : std::nullopt;
}

std::optional<std::string> read_all(int descriptor, std::size_t limit) {
  std::string content;
  std::array<char, 4096> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  while (true) {
    const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
    if (got == 0) return content;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      LookFailures::note(errno, "an open file");
      return std::nullopt;
    }
    content.append(buffer.data(), static_cast<std::size_t>(got));
    if (content.size() > limit) return std::nullopt;
  }
}

std::optional<std::string> read_regular(int directory, const std::string& name, std::size_t limit) {
  const Fd fd(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) {
    LookFailures::note(errno, name);
    return std::nullopt;
  }
  const std::optional<FileInfo> seen = inspect_fd(fd.get());
  if (!seen || seen->kind != FileKind::Regular || seen->size > limit) return std::nullopt;
  return read_all(fd.get(), limit);
}

std::optional<std::string> read_link(int directory, const std::string& name) {
  std::array<char, PATH_MAX> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const ssize_t got = ::readlinkat(directory, name.c_str(), buffer.data(), buffer.size());
  if (got < 0 && errno != EINVAL) LookFailures::note(errno, name);
  if (got < 0 || static_cast<std::size_t>(got) == buffer.size()) return std::nullopt;
  return std::string(buffer.data(), static_cast<std::size_t>(got));
}

namespace {

constexpr int kMostLinks = 40;  // the kernel's own bound

}  // namespace

const PassedPlace* PathTrace::seen(const std::string& place) {
  const auto known = seen_.find(place);
  if (known != seen_.end()) return known->second.get();
  const std::optional<FileInfo> info = inspect_path(place);
  if (!info) return nullptr;
  auto passed = std::make_unique<const PassedPlace>(PassedPlace{place, *info});
  return seen_.emplace(place, std::move(passed)).first->second.get();
}

TracedPath PathTrace::to(const std::string& path) {
  const std::string normal = normalize(path);
  const std::string_view above = parent(normal);
  if (above != last_directory_) {
    last_way_ = TracedPath{};
    last_way_.end = "/";
    go_on(last_way_, above);
    last_directory_ = above;
  }
  TracedPath way = last_way_;
  if (!way.end.empty()) go_on(way, std::string_view(normal).substr(above.size()));
  return way;
}

// From way.end, which is there.
void PathTrace::go_on(TracedPath& way, std::string_view rest) {
  std::string at = std::exchange(way.end, {});
  std::string followed;
  for (std::string_view name = take_name(rest); !name.empty(); name = take_name(rest)) {
    if (name == ".") continue;
    if (name == "..") {
      at = std::string(parent(at));
      continue;
    }
    std::string place = join(at, name);
    const PassedPlace* here = seen(place);
    if (here == nullptr) {
      way.missing = std::move(place);
      return;
    }
    way.passed.push_back(here);
    if (!here->info.symlink) {
      at = std::move(place);
      continue;
    }
    const auto target = read_link(AT_FDCWD, place);
    if (!target || target->empty() || ++way.links > kMostLinks) return;
    if (target->front() == '/') at = "/";
    followed = *target + "/" + std::string(rest);
    rest = followed;
  }
  way.end = at;
}

namespace {

constexpr std::size_t kMostWays = 64;

class WaySearch final : public TreeVisitor {
 public:
  explicit WaySearch(const std::map<FileId, std::string>& moved) : moved_(moved) {
    for (const auto& [id, path] : moved) inodes_.insert(id.inode);
  }

  void visit(WalkedDirectory& directory) override {
    for (const DirectoryEntry& entry : directory.entries()) {
      if (entry.type != EntryType::Directory || found.size() == kMostWays) continue;
      if (inodes_.contains(entry.inode)) examine(directory, std::string(entry.name));
      directory.descend(entry, 0);
    }
  }

  std::vector<MovedWay> found;

 private:
  void examine(const WalkedDirectory& directory, std::string name) {
    const auto seen = inspect_name(directory.descriptor(), name);
    const auto moved = seen ? moved_.find(seen->id) : moved_.end();
    if (moved == moved_.end()) return;
    Fd above(::openat(directory.descriptor(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (above.valid())
      found.push_back({moved->second, moved->first, std::move(above), std::move(name)});
  }

  const std::map<FileId, std::string>& moved_;
  std::set<std::uint64_t> inodes_;
};

}  // namespace

std::vector<MovedWay> find_moved_ways(std::span<const std::string> roots,
                                      const std::map<FileId, std::string>& moved) {
  WaySearch search(moved);
  // A tree that is rearranged meanwhile is searched as far as it goes.
  for (const std::string& root : roots) (void)walk_tree(root, 0, search);
  std::ranges::sort(search.found, {}, &MovedWay::path);
  return std::move(search.found);
}

}  // namespace cordon
