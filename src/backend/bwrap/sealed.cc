#include "backend/bwrap/sealed.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/path.h"
#include "base/text.h"
#include "host/look.h"
#include "host/own_programs.h"
#include "host/ways.h"

namespace cordon::bwrap {
namespace {

constexpr const char* kInside = "cordon-inside";

Error failed(const char* what) {
  return setup_error(std::string("cannot ") + what + " a memory file", errno);
}

Result<Fd> memory_file(const char* name, unsigned kind) {
  Fd file(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | kind));
  // Kernels before 6.3 do not know the word for "executable" and need none.
  if (!file.valid() && errno == EINVAL) {
    file = Fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  }
  if (!file.valid()) return fail(failed("make"));
  return file;
}

Result<void> seal(const Fd& file) {
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  if (::lseek(file.get(), 0, SEEK_SET) < 0) return fail(failed("rewind"));
  if (::fcntl(file.get(), F_ADD_SEALS, kSeals) < 0) return fail(failed("seal"));
  return {};
}

Result<Fd> sealed_copy(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return fail(setup_error("cannot open " + quote(path), errno));
  const std::optional<Looked> seen = look(file.get());
  const bool trusted = seen && seen->kind == FileKind::Regular &&
                       (seen->owner == 0 || seen->owner == ::geteuid()) &&
                       (seen->mode & kOthersMayWrite) == 0;
  if (!trusted) {
    return fail({.kind = ErrorKind::Untrusted,
                 .what = quote(path) + " may have been written by others",
                 .hint = "it is to belong to you or to root, and nobody else may write it"});
  }
  constexpr unsigned kExecutable = 0x10;
  CORDON_TRY(copy, memory_file(kInside, kExecutable));
  for (std::uint64_t left = seen->size; left > 0;) {
    const ssize_t put = ::sendfile(copy.get(), file.get(), nullptr, left);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return fail(setup_error("cannot copy " + quote(path), put < 0 ? errno : EIO));
    left -= static_cast<std::uint64_t>(put);
  }
  CORDON_CHECK(seal(copy));
  return copy;
}

}  // namespace

Result<Fd> sealed_text(std::string_view content) {
  CORDON_TRY(file, memory_file("cordon", 0));
  for (std::size_t done = 0; done < content.size();) {
    const ssize_t put = ::write(file.get(), content.data() + done, content.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail(failed("write"));
    done += static_cast<std::size_t>(put);
  }
  CORDON_CHECK(seal(file));
  return file;
}

Result<Program> sealed_inside() {
  const std::optional<std::string> self = read_link(AT_FDCWD, "/proc/self/exe");
  if (!self) return fail(setup_error("cannot tell where this program lies", errno));
  for (const std::string& place : own_places(parent(*self), kInside)) {
    if (::access(place.c_str(), F_OK) < 0) continue;
    const std::string path = Ways().to(place).end;
    if (path.empty()) return fail(setup_error("cannot look at the way to " + quote(place), errno));
    CORDON_TRY(copy, sealed_copy(path));
    return Program{path, std::move(copy)};
  }
  return fail({.kind = ErrorKind::Unavailable,
               .what = std::string("cannot find ") + kInside,
               .hint = "it belongs beside cordon: install it, or build it with ./cordon"});
}

}  // namespace cordon::bwrap
