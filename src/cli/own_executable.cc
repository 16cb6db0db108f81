#include "cli/own_executable.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "base/text.h"

namespace cordon {

Result<std::string> own_executable() {
  std::array<char, PATH_MAX> text{};
  const ssize_t length = ::readlink("/proc/self/exe", text.data(), text.size());
  if (length < 0) return fail(setup_error("cannot tell where cordon lies", errno));
  if (static_cast<std::size_t>(length) == text.size()) {
    return fail(setup_error("cannot tell where cordon lies", ENAMETOOLONG));
  }
  std::string path(text.data(), static_cast<std::size_t>(length));
  if (::access(path.c_str(), X_OK) < 0) {
    return fail(setup_error("cordon is not at " + quote(path), errno));
  }
  return path;
}

}  // namespace cordon
