#include "host/private_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/fd.h"
#include "base/write_whole.h"

namespace cordon {
namespace {

int place_file(int directory, const std::string& name, std::string_view content, unsigned mode,
               unsigned how) {
  const std::string temporary = unguessable_name();
  if (temporary.empty()) return EIO;
  const Fd fd(::openat(directory, temporary.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return errno;
  int error = write_whole(fd.get(), content);
  if (error == 0 && ::fchmod(fd.get(), mode) != 0) error = errno;
  if (error == 0 && ::renameat2(directory, temporary.c_str(), directory, name.c_str(), how) != 0)
    error = errno;
  if (error != 0) ::unlinkat(directory, temporary.c_str(), 0);
  return error;
}

}  // namespace

std::string unguessable_name() {
  std::array<unsigned char, 12> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
  std::string name = ".cordon-";
  for (const unsigned char byte : bytes) {
    name += "0123456789abcdef"[byte >> 4];
    name += "0123456789abcdef"[byte & 15];
  }
  return name;
}

int put_file(int directory, const std::string& name, std::string_view content, unsigned mode) {
  return place_file(directory, name, content, mode, RENAME_NOREPLACE);
}

int replace_file(int directory, const std::string& name, std::string_view content, unsigned mode) {
  return place_file(directory, name, content, mode, 0);
}

}  // namespace cordon
