#include "changes/private_copies.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "base/fd.h"
#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "changes/manifest.h"
#include "host/inspect.h"
#include "host/private_file.h"
#include "host/tree_copy.h"
#include "host/walk.h"

namespace cordon {
namespace {

constexpr int kDeepestCopy = 64;

class ExactCopy {
 public:
  ExactCopy(CopyFrom side, const std::optional<Owner>& owner) : side_(side), owner_(owner) {}

  int any(int from, const std::string& name, int into, const std::string& as, int depth) {
    const auto seen = inspect_name(from, name);
    if (!seen) return ENOENT;
    int error = ENOTSUP;
    if (seen->symlink) {
      const auto target = read_link(from, name);
      if (!target) return errno;
      error = ::symlinkat(target->c_str(), into, as.c_str()) == 0 ? 0 : errno;
    } else if (seen->kind == FileKind::Regular) {
      error = file(from, name, into, as, seen->mode);
    } else if (seen->kind == FileKind::Directory) {
      error = directory(from, name, into, as, seen->mode, depth);
    }
    if (error == 0 && owner_ && ::geteuid() == 0 &&
        ::fchownat(into, as.c_str(), owner_->uid, owner_->gid, AT_SYMLINK_NOFOLLOW) != 0) {
      error = errno;
    }
    return error;
  }

 private:
  int file(int from, const std::string& name, int into, const std::string& as, unsigned mode) {
    const Fd source = open_source_file(side_, from, name);
    if (!source.valid()) return errno;
    const Fd target(
        ::openat(into, as.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!target.valid()) return errno;
    if (const int error = copy_bytes(source.get(), target.get()); error != 0) return error;
    if (::fchmod(target.get(), mode & 0777U) != 0 || ::fsync(target.get()) != 0) return errno;
    return 0;
  }

  int directory(int from, const std::string& name, int into, const std::string& as, unsigned mode,
                int depth) {
    if (depth >= kDeepestCopy) return ELOOP;
    const SourceDirectory source(side_, from, name);
    if (!source.valid() || ::mkdirat(into, as.c_str(), 0700) != 0) return errno;
    const Fd target(::openat(into, as.c_str(), kOpenDirectory));
    if (!target.valid()) return errno;
    DirectoryNames names;
    if (!names.read(source.get())) return EIO;
    for (const DirectoryEntry& entry : names.entries()) {
      const std::string child(entry.name);
      if (const int error = any(source.get(), child, target.get(), child, depth + 1); error != 0)
        return error;
    }
    return ::fchmod(target.get(), mode & 0777U) == 0 ? 0 : errno;
  }

  CopyFrom side_;
  const std::optional<Owner>& owner_;
};

}  // namespace

int exact_copy(CopyFrom side, int from, const std::string& name, int into, const std::string& as,
               const std::optional<Owner>& owner) {
  if (inspect_name(into, as)) return EEXIST;
  const int error = ExactCopy(side, owner).any(from, name, into, as, 0);
  if (error != 0) (void)remove_tree(into, as);
  return error;
}

namespace {

constexpr std::uint64_t kMostPrivateBytes = std::uint64_t{64} * 1024 * 1024;
constexpr std::size_t kMostPrivateEntries = 20000;
constexpr int kDeepestPrivate = 64;
constexpr const char* kListName = "copies";
constexpr std::string_view kFirstOfCopies = "cordon-copies/1";
constexpr std::size_t kMostList = std::size_t{64} * 1024 * 1024;

std::uint64_t nanoseconds(const timespec& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// Copies one object. A text says why it cannot be copied; nothing of it is left then.
class Copier {
 public:
  Copier(const std::optional<Owner>& owner, std::uint64_t& bytes, std::size_t& count)
      : owner_(owner), bytes_(bytes), count_(count) {}

  std::optional<std::string> copy(int from, const std::string& name, const struct stat& status,
                                  const std::string& to) {
    device_ = status.st_dev;
    hooks_ = name == "hooks";
    const Fd into(::open(std::string(parent(to)).c_str(), kOpenDirectory));
    if (!into.valid()) return failure(errno);
    return object(from, name, into.get(), std::string(basename(to)), {}, 0);
  }
  std::vector<CopiedEntry> take() { return std::move(entries_); }

 private:
  static std::string failure(int error_number) {
    return message(setup_error("it cannot be copied", error_number));
  }

  // Root reads everything, and the command, which has root's id without its powers, or the id of
  // the project's owner, does not: a copy must not show what the original would not.
  [[nodiscard]] bool may_read(const struct stat& status) const {
    if (::geteuid() != 0 || S_ISLNK(status.st_mode)) return true;
    const uid_t uid = owner_ ? owner_->uid : 0;
    const gid_t gid = owner_ ? owner_->gid : ::getegid();
    const unsigned shift = status.st_uid == uid ? 6 : status.st_gid == gid ? 3 : 0;
    const unsigned wanted = S_ISDIR(status.st_mode) ? 5U : 4U;
    return ((status.st_mode >> shift) & wanted) == wanted;
  }

  std::optional<std::string> object(int from, const std::string& name, int into,
                                    const std::string& as, const std::string& path, int depth) {
    struct stat status {};
    if (::fstatat(from, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      // Gone since it was listed.
      return errno == ENOENT && depth > 0 ? std::nullopt : std::optional(failure(errno));
    }
    if (depth > kDeepestPrivate) return "it lies too deep";
    if (!may_read(status)) return "it has something in it that the command may not read";
    if (status.st_dev != device_) return "something is mounted in it";
    if (++count_ > kMostPrivateEntries) {
      return "there are more than " + std::to_string(kMostPrivateEntries) + " protected files";
    }
    CopiedEntry entry;
    entry.name = path;
    entry.mode = status.st_mode & 0777U;
    entry.id = looked(status).id;
    entry.size = static_cast<std::uint64_t>(status.st_size);
    entry.changed_ns = nanoseconds(status.st_ctim);
    const std::size_t index = entries_.size();
    entries_.push_back(entry);
    std::optional<std::string> problem;
    if (S_ISREG(status.st_mode)) {
      problem = file(from, name, into, as, status);
    } else if (S_ISLNK(status.st_mode)) {
      entries_[index].type = CopiedEntry::Type::Link;
      problem = link(from, name, into, as);
    } else if (S_ISDIR(status.st_mode)) {
      entries_[index].type = CopiedEntry::Type::Directory;
      problem = directory(from, name, into, as, path, status, depth);
    } else {
      problem = "it has a FIFO, a socket or a device in it";
    }
    if (problem) return problem;
    if (owner_ &&
        ::fchownat(into, as.c_str(), owner_->uid, owner_->gid, AT_SYMLINK_NOFOLLOW) != 0) {
      return failure(errno);
    }
    struct stat copied {};
    if (::fstatat(into, as.c_str(), &copied, AT_SYMLINK_NOFOLLOW) != 0) return failure(errno);
    entries_[index].copied_ns = nanoseconds(copied.st_ctim);
    return std::nullopt;
  }

  std::optional<std::string> file(int from, const std::string& name, int into,
                                  const std::string& as, const struct stat& status) {
    bytes_ += static_cast<std::uint64_t>(status.st_size);
    if (bytes_ > kMostPrivateBytes) {
      return "with the other protected files it is larger than " + format_size(kMostPrivateBytes);
    }
    const Fd source(::openat(from, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!source.valid()) return failure(errno);
    const Fd target(
        ::openat(into, as.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!target.valid()) return failure(errno);
    if (const int error = bounded_copy(source.get(), target.get()); error != 0) {
      return failure(error);
    }
    // Git tells by size and time whether it has to read a file again.
    const std::array<timespec, 2> times = {timespec{0, UTIME_OMIT}, status.st_mtim};
    if (::fchmod(target.get(), status.st_mode & 0777U) != 0 ||
        ::futimens(target.get(), times.data()) != 0) {
      return failure(errno);
    }
    return std::nullopt;
  }

  // A file may grow while it is read.
  static int bounded_copy(int from, int to) {
    for (std::uint64_t done = 0; done <= kMostPrivateBytes;) {
      const ssize_t got = ::copy_file_range(from, nullptr, to, nullptr, kMostPrivateBytes, 0);
      if (got == 0 && done > 0) return 0;
      // Nothing at all: an empty file, or a file system that has to be read in the plain way.
      if (got <= 0 && done == 0) return copy_bytes(from, to);
      if (got < 0 && errno != EINTR) return errno;
      if (got > 0) done += static_cast<std::uint64_t>(got);
    }
    return EFBIG;
  }

  static std::optional<std::string> link(int from, const std::string& name, int into,
                                         const std::string& as) {
    const auto target = read_link(from, name);
    if (!target || ::symlinkat(target->c_str(), into, as.c_str()) != 0) return failure(errno);
    return std::nullopt;
  }

  std::optional<std::string> directory(int from, const std::string& name, int into,
                                       const std::string& as, const std::string& path,
                                       const struct stat& status, int depth) {
    const Fd source(::openat(from, name.c_str(), kOpenDirectory));
    if (!source.valid() || ::mkdirat(into, as.c_str(), 0700) != 0) return failure(errno);
    const Fd target(::openat(into, as.c_str(), kOpenDirectory));
    if (!target.valid()) return failure(errno);
    DirectoryNames names;
    if (!names.read(source.get())) return failure(EIO);
    for (const DirectoryEntry& child : names.entries()) {
      const std::string one(child.name);
      if (hooks_ && depth == 0 && one.ends_with(".sample")) continue;
      const std::string below = path.empty() ? one : path + "/" + one;
      if (auto problem = object(source.get(), one, target.get(), one, below, depth + 1)) {
        return problem;
      }
    }
    if (::fchmod(target.get(), status.st_mode & 0777U) != 0) return failure(errno);
    return std::nullopt;
  }

  const std::optional<Owner>& owner_;
  std::uint64_t& bytes_;
  std::size_t& count_;
  dev_t device_ = 0;
  bool hooks_ = false;
  std::vector<CopiedEntry> entries_;
};

Result<void> give(const std::string& path, const std::optional<Owner>& owner) {
  if (!owner || ::lchown(path.c_str(), owner->uid, owner->gid) == 0) return {};
  return fail(setup_error("cannot give " + quote(path) + " to the command", errno));
}

Result<void> make_configs(const std::vector<ConfigRequest>& requests,
                          const std::optional<Owner>& owner, PrivateCopies& copies) {
  if (requests.empty()) return {};
  const std::string place(parent(requests.front().copy));
  CORDON_TRY(into, open_private_directory(place));
  for (const ConfigRequest& request : requests) {
    const Fd file(::openat(into.get(), std::string(basename(request.copy)).c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    const int error = file.valid() ? write_whole(file.get(), request.content) : errno;
    if (error != 0) return fail(setup_error("cannot write " + quote(request.copy), error));
    CORDON_CHECK(give(request.copy, owner));
    copies.configs.push_back({request.path, request.copy, request.content});
  }
  return give(place, owner);
}

std::string write_list(const PrivateCopies& copies) {
  std::string text;
  add_field(text, kFirstOfCopies);
  add_field(text, copies.objects.size());
  for (const CopiedObject& object : copies.objects) {
    add_field(text, object.what.path);
    add_field(text, object.what.source);
    add_field(text, object.what.kind == FileKind::Directory ? "d" : "f");
    add_field(text, object.what.reason);
    add_field(text, object.entries.size());
    for (const CopiedEntry& entry : object.entries) {
      add_field(text, entry.name);
      add_field(text, std::string(1, static_cast<char>(entry.type)));
      for (const std::uint64_t number : {std::uint64_t{entry.mode}, entry.id.device, entry.id.inode,
                                         entry.size, entry.changed_ns, entry.copied_ns}) {
        add_field(text, number);
      }
    }
  }
  add_field(text, copies.configs.size());
  for (const CopiedConfig& config : copies.configs) {
    add_field(text, config.path);
    add_field(text, config.copy);
    add_field(text, config.base.size());
    text += config.base;
  }
  return text;
}

std::optional<PrivateCopies> read_list(std::string_view text) {
  FieldReader fields(text);
  PrivateCopies copies;
  if (fields.text() != kFirstOfCopies) return std::nullopt;
  for (std::uint64_t left = fields.number(); left > 0 && fields.good(); --left) {
    CopiedObject object;
    object.what.path = fields.text();
    object.what.source = fields.text();
    object.what.kind = fields.text() == "d" ? FileKind::Directory : FileKind::Regular;
    object.what.reason = fields.text();
    for (std::uint64_t more = fields.number(); more > 0 && fields.good(); --more) {
      CopiedEntry entry;
      entry.name = fields.text();
      const std::string type = fields.text();
      entry.type = type == "d"   ? CopiedEntry::Type::Directory
                   : type == "l" ? CopiedEntry::Type::Link
                                 : CopiedEntry::Type::File;
      entry.mode = static_cast<std::uint32_t>(fields.number());
      entry.id.device = fields.number();
      entry.id.inode = fields.number();
      entry.size = fields.number();
      entry.changed_ns = fields.number();
      entry.copied_ns = fields.number();
      object.entries.push_back(std::move(entry));
    }
    copies.objects.push_back(std::move(object));
  }
  for (std::uint64_t left = fields.number(); left > 0 && fields.good(); --left) {
    CopiedConfig config;
    config.path = fields.text();
    config.copy = fields.text();
    config.base = fields.bytes(fields.number());
    copies.configs.push_back(std::move(config));
  }
  if (!fields.good() || !fields.at_end()) return std::nullopt;
  return copies;
}

}  // namespace

Result<MadeCopies> make_private_copies(const std::string& directory,
                                       const std::vector<CopyRequest>& requests,
                                       const std::vector<ConfigRequest>& configs,
                                       const std::optional<Owner>& owner) {
  MadeCopies made;
  CORDON_TRY(own, open_private_directory(directory));
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  for (const CopyRequest& request : requests) {
    const Fd above = open_canonical(std::string(parent(request.path)), O_PATH | O_DIRECTORY);
    const std::string name(basename(request.path));
    struct stat status {};
    if (!above.valid() || ::fstatat(above.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        looked(status).id != request.id) {
      return fail(setup_error(
          "the protected " + quote(request.path) + " was replaced while the run was prepared",
          ESTALE, "try again when nothing else writes it"));
    }
    const std::uint64_t bytes_before = bytes;
    const std::size_t count_before = count;
    Copier copier(owner, bytes, count);
    if (auto problem = copier.copy(above.get(), name, status, request.source)) {
      bytes = bytes_before;
      count = count_before;
      (void)remove_private_tree(request.source);
      made.uncopied.push_back({request.path, *std::move(problem)});
      continue;
    }
    made.copies.objects.push_back({request, copier.take()});
  }
  CORDON_CHECK(make_configs(configs, owner, made.copies));
  if (const int error = put_file(own.get(), kListName, write_list(made.copies), 0600); error != 0) {
    return fail(setup_error("cannot write a list in " + quote(directory), error));
  }
  return made;
}

Result<std::optional<PrivateCopies>> read_private_copies(const std::string& directory) {
  const Fd fd(::open(directory.c_str(), kOpenDirectory));
  if (!fd.valid() && errno == ENOENT) return std::optional<PrivateCopies>();
  if (!fd.valid()) return fail(setup_error("cannot open " + quote(directory), errno));
  // Written last: without it nothing was mounted.
  if (!inspect_name(fd.get(), kListName)) return std::optional<PrivateCopies>();
  const auto text = read_regular(fd.get(), kListName, kMostList);
  auto copies = text ? read_list(*text) : std::nullopt;
  if (!copies) {
    return fail(
        setup_error("the list of private copies in " + quote(directory) + " cannot be understood",
                    0, "what the run changed lies beside it"));
  }
  return std::optional(std::move(*copies));
}

}  // namespace cordon
