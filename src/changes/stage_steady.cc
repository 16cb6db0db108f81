#include "changes/stage_steady.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "host/inspect.h"
#include "host/private_file.h"

namespace cordon {
namespace {

constexpr std::string_view kLock = ".lock";
constexpr std::array<std::string_view, 5> kLocked{"index", "HEAD", "packed-refs", "config",
                                                  "shallow"};

// A directory of the host, and the one of the layer that lies over it.
class SteadyPlace {
 public:
  SteadyPlace() = default;
  SteadyPlace(Fd host, Fd layer) : host_(std::move(host)), layer_(std::move(layer)) {}
  // What is put into a directory changes its times: it gets them when it is left.
  ~SteadyPlace() {
    if (layer_.valid() && times_) (void)::futimens(layer_.get(), times_->data());
  }
  SteadyPlace(SteadyPlace&& other) noexcept { swap(other); }
  SteadyPlace& operator=(SteadyPlace&& other) noexcept {
    SteadyPlace left(std::move(other));
    swap(left);
    return *this;
  }
  SteadyPlace(const SteadyPlace&) = delete;
  SteadyPlace& operator=(const SteadyPlace&) = delete;
  [[nodiscard]] bool valid() const { return layer_.valid(); }

  // With the owner, the mode and the times that the host's has, since an overlay shows those of the
  // uppermost layer. Where the host has none, as a new one beside it. Invalid with errno.
  [[nodiscard]] SteadyPlace below(const std::string& name) const {
    SteadyPlace made;
    if (host_.valid()) made.host_ = Fd(::openat(host_.get(), name.c_str(), kOpenDirectory));
    struct stat like {};
    if (::fstat(made.host_.valid() ? made.host_.get() : layer_.get(), &like) != 0) return made;
    // Nothing could be put into it, and git writes nothing there either.
    if ((like.st_mode & S_IRWXU) != S_IRWXU) {
      errno = EACCES;
      return made;
    }
    if (::mkdirat(layer_.get(), name.c_str(), S_IRWXU) != 0 && errno != EEXIST) return made;
    Fd layer(::openat(layer_.get(), name.c_str(), kOpenDirectory));
    if (!layer.valid() || ::fchown(layer.get(), like.st_uid, like.st_gid) != 0 ||
        ::fchmod(layer.get(), like.st_mode & 07777U) != 0) {
      return made;
    }
    made.layer_ = std::move(layer);
    if (made.host_.valid()) made.times_ = std::array<timespec, 2>{like.st_atim, like.st_mtim};
    return made;
  }

  // 0 or errno.
  [[nodiscard]] int hide(const std::string& name) const {
    constexpr dev_t kNoDevice = 0;
    return ::mknodat(layer_.get(), name.c_str(), S_IFCHR, kNoDevice) == 0 || errno == EEXIST
               ? 0
               : errno;
  }

  [[nodiscard]] int put(const std::string& name, std::string_view line) const {
    struct stat like {};
    if (::fstat(layer_.get(), &like) != 0) return errno;
    const Fd file(::openat(layer_.get(), name.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!file.valid()) return errno == EEXIST ? 0 : errno;
    // What everybody may read in a shared repository the directory tells.
    const mode_t mode = like.st_mode & 0666U;
    if (::fchown(file.get(), like.st_uid, like.st_gid) != 0 || ::fchmod(file.get(), mode) != 0) {
      return errno;
    }
    return write_whole(file.get(), std::string(line) + "\n");
  }

 private:
  void swap(SteadyPlace& other) {
    std::swap(host_, other.host_);
    std::swap(layer_, other.layer_);
    std::swap(times_, other.times_);
  }

  Fd host_;
  Fd layer_;
  std::optional<std::array<timespec, 2>> times_;
};

std::string_view checked_out(const GitRefs& refs) {
  constexpr std::string_view kSymbolic = "ref: ";
  const std::string_view head = refs.head;
  if (!refs.told || !head.starts_with(kSymbolic)) return {};
  const std::string_view name = head.substr(kSymbolic.size());
  return name.starts_with("refs/heads/") && is_ref_name(name) ? name : std::string_view();
}

int keep_branch(SteadyPlace at, std::string_view ref, const GitRefs& refs) {
  for (const std::string_view part : components(parent(ref))) {
    at = at.below(std::string(part));
    if (!at.valid()) return errno;
  }
  const std::string name(basename(ref));
  if (const int error = at.hide(name + std::string(kLock)); error != 0) return error;
  const auto value = ref_value(refs.refs, ref);
  return value ? at.put(name, *value) : 0;
}

int keep_repository(SteadyPlace at, std::string_view below, const GitRefs& refs) {
  for (const std::string_view part : components(below)) {
    at = at.below(std::string(part));
    if (!at.valid()) return errno;
  }
  for (const std::string_view name : kLocked) {
    if (const int error = at.hide(std::string(name) + std::string(kLock)); error != 0) return error;
  }
  if (refs.told && !refs.head.empty()) {
    if (const int error = at.put("HEAD", refs.head); error != 0) return error;
  }
  const std::string_view branch = checked_out(refs);
  return branch.empty() ? 0 : keep_branch(std::move(at), branch, refs);
}

}  // namespace

bool is_git_lock(std::string_view name) { return name.ends_with(kLock); }

Result<void> keep_git_steady(const StagedRoot& root,
                             const std::vector<StagedRepository>& repositories) {
  const auto cannot = [&](int error) {
    return fail(setup_error("cannot make " + quote(root.steady), error));
  };
  // Whatever the umask is: whoever mounts the overlay may be another user than this one.
  constexpr mode_t kForAll = 0755;
  if (::mkdir(root.steady.c_str(), kForAll) != 0 || ::chmod(root.steady.c_str(), kForAll) != 0) {
    return cannot(errno);
  }
  for (const StagedRepository& one : repositories) {
    if (!contains(root.path, one.path) || one.path == root.path) continue;
    SteadyPlace top(open_canonical(root.path, O_RDONLY | O_DIRECTORY),
                    Fd(::open(root.steady.c_str(), kOpenDirectory)));
    if (!top.valid()) return cannot(errno);
    const std::string_view below = std::string_view(one.path).substr(root.path.size() + 1);
    const int error = keep_repository(std::move(top), below, one.refs);
    // EACCES: nobody writes in it. EPERM and EOPNOTSUPP: no marks there.
    if (error != 0 && error != EACCES && error != EPERM && error != EOPNOTSUPP) {
      return cannot(error);
    }
  }
  return {};
}

}  // namespace cordon
