#include "egress/staged_renames.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "base/path.h"
#include "sys/calls.h"

namespace cordon {
namespace {

constexpr std::size_t kMostNamed = 100;

// The directory that the call is to rename, as a path inside; empty if it is none, or it cannot be
// told.
std::string renamed_directory(WaitingCall& call) {
  bool by_directory = true;
#ifdef SYS_rename
  by_directory = call.number() != SYS_rename;
#endif
  const int directory = by_directory ? call.argument_as_int(0) : AT_FDCWD;
  std::string path;
  if (read_name_of(call, directory, by_directory ? 1 : 0, path) != 0) return {};
  Fd root;
  if (open_root_of(call, root) != 0) return {};
  const Fd found(
      sys::openat2(root.get(), path.c_str(),
                   static_cast<std::uint64_t>(O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), 0,
                   sys::kResolveInRoot | sys::kResolveNoMagicLinks));
  return found.valid() ? name_of_descriptor(found.get()) : std::string();
}

}  // namespace

bool StagedRenames::handles(int call) {
#ifdef SYS_rename
  if (call == SYS_rename) return true;
#endif
#ifdef SYS_renameat
  if (call == SYS_renameat) return true;
#endif
  return call == SYS_renameat2;
}

// One that was there before, and was not removed and made again in the stage.
bool StagedRenames::is_refused(const std::string& path) const {
  for (const StagedPlace& place : places_) {
    if (path == place.path || !contains(place.path, path)) continue;
    struct stat before {};
    if (::lstat(path.c_str(), &before) != 0 || !S_ISDIR(before.st_mode)) return false;
    const std::string layer = place.upper + path.substr(place.path.size());
    char opaque = 0;
    return ::lgetxattr(layer.c_str(), "user.overlay.opaque", &opaque, 1) != 1 || opaque != 'y';
  }
  return false;
}

void StagedRenames::pass(WaitingCall& call) {
  const std::string path = places_.empty() ? std::string() : renamed_directory(call);
  if (!path.empty() && is_refused(path)) note(path);
  call.let_continue();
}

void StagedRenames::note(const std::string& path) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = refused_.empty();
    if (refused_.contains(path) || refused_.size() < kMostNamed) {
      ++refused_[path];
    } else {
      ++others_;
    }
  }
  if (first && tell_) tell_({"rename", path, "stage", 1});
}

std::vector<Denial> StagedRenames::denials() const {
  const std::lock_guard lock(mutex_);
  std::vector<Denial> found;
  for (const auto& [path, count] : refused_) found.push_back({"rename", path, "stage", count});
  if (others_ > 0) found.push_back({"rename", "other directories", "stage", others_});
  return found;
}

}  // namespace cordon
