#include "compat/dialect/host_places.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/path.h"
#include "base/text.h"
#include "host/credentials.h"
#include "host/inspect.h"
#include "host/walk.h"
#include "host/writable.h"

namespace cordon {
namespace {

// A sandbox has its own.
constexpr std::array<std::string_view, 7> kOwn{"/proc", "/dev", "/sys",    "/etc",
                                               "/tmp",  "/run", "/var/tmp"};

Result<std::vector<std::string>> children_of(const std::string& directory, const Caller& caller) {
  const Fd opened = open_canonical(directory, O_RDONLY | O_DIRECTORY);
  DirectoryNames names;
  if (!opened.valid() || !names.read(opened.get())) {
    return fail(setup_error("cannot list " + quote(directory), errno));
  }
  std::vector<std::string> found;
  for (const DirectoryEntry& entry : names.entries()) {
    if (entry.type != EntryType::Directory && entry.type != EntryType::Regular) continue;
    std::string path = join(directory, entry.name);
    const bool own = std::find(kOwn.begin(), kOwn.end(), path) != kOwn.end();
    if (own || is_in_store(path, caller) || refuse_granted({path, path, {}, {}}, path, caller)) {
      continue;
    }
    found.push_back(std::move(path));
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

Places places_of(const Caller& caller) {
  return {caller.cwd, caller.home,
          [&caller](const std::string& path) -> Result<std::string> {
            CORDON_TRY(found, canonicalize(path, "/", caller));
            return found.path;
          },
          [&caller](const std::string& path) -> Result<bool> {
            CORDON_TRY(found, canonicalize(path, "/", caller));
            return found.kind != FileKind::Absent;
          },
          [&caller](const std::string& path) { return children_of(path, caller); }};
}

}  // namespace cordon
