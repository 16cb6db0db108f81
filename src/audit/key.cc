#include "audit/key.h"

#include <sys/random.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "audit/files.h"
#include "audit/record.h"

namespace cordon::audit {
namespace {

Result<Key> make_key(int directory, const char* name) {
  CORDON_TRY(key, random_key());
  // Written beside and renamed: a crash leaves the whole key or none, and a half one would make
  // every later record unverifiable.
  const std::string beside = std::string(name) + ".new";
  ::unlinkat(directory, beside.c_str(), 0);
  const Fd file(::openat(directory, beside.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid() ||
      ::write(file.get(), key.data(), key.size()) != static_cast<ssize_t>(key.size()) ||
      ::fsync(file.get()) != 0 || ::renameat(directory, beside.c_str(), directory, name) != 0 ||
      ::fsync(directory) != 0) {
    const int why = errno;
    ::unlinkat(directory, beside.c_str(), 0);
    return fail(audit_error(std::string("cannot make audit/") + name, why));
  }
  return key;
}

}  // namespace

Digest keyed(const Key& key, std::string_view use, std::string_view bytes) {
  return keyed(Hmac(key), use, bytes);
}

Digest keyed(const Hmac& key, std::string_view use, std::string_view bytes) {
  constexpr std::string_view kBehindUse("\0", 1);
  return key.of({use, kBehindUse, bytes});
}

Result<Key> random_key() {
  Key key{};
  std::size_t done = 0;
  while (done < key.size()) {
    const ssize_t got = ::getrandom(key.data() + done, key.size() - done, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(audit_error("the kernel gives no random bytes", errno));
    done += static_cast<std::size_t>(got);
  }
  return key;
}

Result<Key> load_key(int directory, const char* name, IfMissing missing) {
  auto file = open_private_file(directory, name, O_RDONLY);
  if (!file && file.error().error_number == ENOENT && missing == IfMissing::Make) {
    return make_key(directory, name);
  }
  if (!file) return fail(std::move(file).error());
  Key key{};
  if (::pread(file->get(), key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) {
    return fail(audit_error(std::string("audit/") + name + " does not hold a key", 0,
                            "it was damaged: move the audit directory aside to begin a new log"));
  }
  return key;
}

}  // namespace cordon::audit
