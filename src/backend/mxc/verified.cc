#include "backend/mxc/verified.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "backend/mxc/pins.h"
#include "base/sha256.h"
#include "base/text.h"
#include "host/look.h"

namespace cordon::mxc {
namespace {

// The published executors have up to ten million bytes.
constexpr std::size_t kMostExecutorBytes = std::size_t{256} << 20;
constexpr unsigned kExecutable = 0x0010U;  // MFD_EXEC, since Linux 6.3
constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

Result<std::string> content_of(const std::string& path) {
  // Non-blocking: a FIFO under this name would stop the launch for ever.
  const Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.valid()) {
    Error error = untrusted("executor " + quote(path) + " was not found", "install it again");
    error.error_number = errno == ENOENT ? 0 : errno;
    return fail(std::move(error));
  }
  const std::optional<Looked> seen = look(file.get());
  if (!seen || seen->kind != FileKind::Regular) {
    return fail(
        untrusted("executor " + quote(path) + " is not a regular file", "install it again"));
  }
  std::optional<std::string> content = read_all(file.get(), kMostExecutorBytes);
  if (!content) {
    return fail(untrusted("executor " + quote(path) + " cannot be read", "check its permissions"));
  }
  return std::move(*content);
}

}  // namespace

Result<Fd> sealed_memory(const char* name, std::string_view bytes) {
  Fd memory(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | kExecutable));
  // Older kernels do not know the flag and always allow execution.
  if (!memory.valid() && errno == EINVAL) {
    memory = Fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  }
  if (!memory.valid()) return fail(setup_error("cannot make a file in memory", errno));
  while (!bytes.empty()) {
    const ssize_t written = ::write(memory.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return fail(setup_error("cannot write a file in memory", errno));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fcntl(memory.get(), F_ADD_SEALS, kSeals) < 0) {
    return fail(setup_error("cannot seal a file in memory", errno));
  }
  return memory;
}

Result<VerifiedExecutor> verify_executor(const std::string& path, const std::string& sha256) {
  CORDON_TRY(content, content_of(path));
  const std::string actual = sha256_hex(content);
  if (actual != sha256) {
    return fail(untrusted("executor " + quote(path) + " is not the pinned one: SHA256 expected " +
                              sha256 + ", actual " + actual,
                          "install the pinned release again, or pin this one in pins.toml if you "
                          "know where it came from"));
  }
  CORDON_TRY(copy, sealed_memory("executor", content));
  return VerifiedExecutor(std::move(copy));
}

Result<std::string> digest_of(const std::string& path) {
  CORDON_TRY(content, content_of(path));
  return sha256_hex(content);
}

}  // namespace cordon::mxc
