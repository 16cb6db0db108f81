#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "compat/engine/engine.h"

namespace cordon {
namespace {

Error cannot_write_entry(const std::string& path, int error) {
  return setup_error("cannot write " + quote(path), error, "remove what is there of it");
}

Result<void> write_entry(int directory, const ArtefactEntry& entry, const std::string& shown) {
  const char* path = entry.path.c_str();
  switch (entry.kind) {
    case ArtefactEntry::Kind::Directory:
      if (::mkdirat(directory, path, 0700) < 0) return fail(cannot_write_entry(shown, errno));
      break;
    case ArtefactEntry::Kind::Symlink:
      if (::symlinkat(entry.content.c_str(), directory, path) == 0) return {};
      return fail(cannot_write_entry(shown, errno));
    case ArtefactEntry::Kind::File: {
      const Fd file(::openat(directory, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
      const int error = file.valid() ? write_whole(file.get(), entry.content) : errno;
      if (error != 0) return fail(cannot_write_entry(shown, error));
      break;
    }
  }
  return {};
}

// Whatever the caller's mask says, and after everything below is made.
Result<void> set_mode(int directory, const ArtefactEntry& entry, const std::string& shown) {
  if (entry.kind == ArtefactEntry::Kind::Symlink) return {};
  if (::fchmodat(directory, entry.path.c_str(), entry.mode, 0) == 0) return {};
  return fail(cannot_write_entry(shown, errno));
}

}  // namespace

Result<void> write_entries(const std::string& directory,
                           const std::vector<ArtefactEntry>& entries) {
  if (::mkdir(directory.c_str(), 0700) < 0) return fail(cannot_write_entry(directory, errno));
  const Fd opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened.valid()) return fail(cannot_write_entry(directory, errno));
  for (const ArtefactEntry& entry : entries) {
    CORDON_CHECK(write_entry(opened.get(), entry, join(directory, entry.path)));
  }
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    CORDON_CHECK(set_mode(opened.get(), *entry, join(directory, entry->path)));
  }
  return {};
}

}  // namespace cordon
