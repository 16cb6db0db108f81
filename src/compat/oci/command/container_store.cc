#include "compat/oci/command/container_store.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "base/path.h"
#include "base/private_directory.h"
#include "base/sha256.h"
#include "base/text.h"
#include "config/node.h"
#include "host/inspect.h"
#include "host/private_file.h"

namespace cordon::oci {
namespace {

constexpr const char* kConfig = "config.json";
constexpr std::size_t kNameLength = 32;  // of the hash, which is what a runtime's names may not be
constexpr std::size_t kLongestCopy = 4 * kMaxDocumentBytes;

}  // namespace

ContainerPlace::ContainerPlace(const std::string& state, std::string_view root, std::string_view id)
    : state_(state) {
  std::string name(root);
  name.push_back('\0');
  name.append(id);
  path_ = join(state, sha256_hex(name).substr(0, kNameLength));
}

bool ContainerPlace::exists() const {
  struct stat status {};
  return ::lstat(path_.c_str(), &status) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

Result<void> ContainerPlace::make(std::string_view config) const {
  CORDON_TRY(state, open_private_directory(state_));
  if (::mkdirat(state.get(), std::string(basename(path_)).c_str(), 0700) < 0) {
    return fail(setup_error("cannot make " + quote(path_), errno));
  }
  const Fd place(::openat(state.get(), std::string(basename(path_)).c_str(), kOpenDirectory));
  const int error = place.valid() ? put_file(place.get(), kConfig, config, kOwnerOnlyFile) : errno;
  if (error == 0) return {};
  remove();
  return fail(setup_error("cannot write " + quote(join(path_, kConfig)), error,
                          "make room where containers are kept: cordon oci --state DIR"));
}

Result<std::string> ContainerPlace::put(std::string_view content) const {
  const Fd place(::open(path_.c_str(), kOpenDirectory));
  const std::string name = unguessable_name() + ".json";
  const int error = place.valid() ? put_file(place.get(), name, content, kOwnerOnlyFile) : errno;
  if (error != 0) return fail(setup_error("cannot write into " + quote(path_), error));
  return join(path_, name);
}

std::optional<std::string> ContainerPlace::config() const {
  const Fd place(::open(path_.c_str(), kOpenDirectory));
  if (!place.valid()) return std::nullopt;
  return read_regular(place.get(), kConfig, kLongestCopy);
}

// Flat, and of files of Cordon's own alone.
void ContainerPlace::remove() const {
  const int opened = ::open(path_.c_str(), kOpenDirectory);
  if (opened < 0) return;
  const DirectoryStream names(::fdopendir(opened));
  if (names == nullptr) {
    ::close(opened);
    return;
  }
  while (const dirent* entry = ::readdir(names.get())) {
    ::unlinkat(opened, entry->d_name, 0);
  }
  ::rmdir(path_.c_str());
}

}  // namespace cordon::oci
