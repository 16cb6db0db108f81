#include "changes/fingerprint.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <vector>

#include "base/fd.h"
#include "base/path.h"
#include "base/sha256.h"
#include "host/directory_names.h"
#include "host/look.h"

namespace cordon {
namespace {

constexpr int kDeepestFingerprint = 64;
constexpr std::size_t kMostFingerprintNames = 20000;
constexpr std::size_t kMostFingerprintBytes = std::size_t{256} * 1024 * 1024;

std::string octal(unsigned mode) {
  char text[8];
  std::snprintf(text, sizeof text, "%04o", mode & 07777U);
  return text;
}

class Fingerprint {
 public:
  std::string of(int directory, const std::string& name, int depth = 0) {
    struct stat status {};
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return errno == ENOENT || errno == ENOTDIR ? kAbsent : kUnknown;
    }
    if (S_ISLNK(status.st_mode)) {
      const auto target = read_link(directory, name);
      return target ? "link:" + *target : kUnknown;
    }
    if (S_ISREG(status.st_mode)) return file(directory, name, status);
    if (S_ISDIR(status.st_mode)) return tree(directory, name, status, depth);
    return kUnknown;
  }

 private:
  std::string file(int directory, const std::string& name, const struct stat& status) {
    const auto content = read_regular(directory, name, kMostFingerprintBytes - bytes_);
    if (!content) return kUnknown;
    bytes_ += content->size();
    return "file:" + octal(status.st_mode) + ":" + sha256_hex(*content);
  }

  std::string tree(int directory, const std::string& name, const struct stat& status, int depth) {
    const Fd fd(::openat(directory, name.c_str(),
                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd.valid() || depth >= kDeepestFingerprint) return kUnknown;
    DirectoryNames names;
    if (!names.read(fd.get())) return kUnknown;
    std::vector<std::string> sorted;
    for (const DirectoryEntry& entry : names.entries()) sorted.emplace_back(entry.name);
    names_ += sorted.size();
    if (names_ > kMostFingerprintNames) return kUnknown;
    std::ranges::sort(sorted);
    std::string all;
    for (const std::string& child : sorted) {
      const std::string one = of(fd.get(), child, depth + 1);
      if (one == kUnknown) return kUnknown;
      all.append(child).push_back('\0');
      all.append(one).push_back('\0');
    }
    return "directory:" + octal(status.st_mode) + ":" + sha256_hex(all);
  }

  std::size_t names_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

std::string fingerprint(int directory, const std::string& name) {
  return Fingerprint().of(directory, name);
}

std::string fingerprint_path(const std::string& path) {
  const Fd above = open_canonical(std::string(parent(path)), O_PATH | O_DIRECTORY);
  if (!above.valid()) return errno == ENOENT || errno == ENOTDIR ? kAbsent : kUnknown;
  return fingerprint(above.get(), std::string(basename(path)));
}

}  // namespace cordon
