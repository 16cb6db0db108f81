#include "run/trust_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "host/resolve.h"
#include "host/trust_stores.h"
#include "plan/trust_files.h"
#include "policy/decide.h"
#include "run/java_trust.h"
#include "sys/calls.h"

namespace cordon {
namespace {

constexpr std::size_t kMostTrusted = std::size_t{16} << 20U;

// Other text of the file is left out, keys of its owner first of all: also one that stands behind a
// certificate that was cut off.
std::string certificates_in(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  constexpr std::string_view kDashes = "-----";
  std::string kept;
  for (std::size_t at = text.find(kBegin); at != std::string_view::npos;) {
    const std::size_t end = text.find(kDashes, at + kBegin.size());
    if (end == std::string_view::npos) break;
    if (text.substr(end).starts_with(kEnd))
      kept.append(text.substr(at, end + kEnd.size() - at)).append("\n");
    at = text.find(kBegin, end);
  }
  return kept;
}

Result<std::string> read_trusted(const std::string& path) {
  const auto failed = [&](int error) {
    return fail(setup_error("cannot read the certificates in " + quote(path), error,
                            "programs inside are shown a copy of them"));
  };
  const int opened = sys::openat2(AT_FDCWD, path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0,
                                  sys::kResolveNoSymlinks | sys::kResolveNoMagicLinks);
  if (opened < 0) return failed(-opened);
  const Fd file(opened);
  struct stat status {};
  if (::fstat(file.get(), &status) < 0) return failed(errno);
  if (!S_ISREG(status.st_mode)) return failed(EINVAL);
  std::string text;
  for (;;) {
    std::array<char, std::size_t{16} << 10U> room;
    const ssize_t got = ::read(file.get(), room.data(), room.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(errno);
    if (got == 0) return text;
    text.append(room.data(), static_cast<std::size_t>(got));
    if (text.size() > kMostTrusted) return failed(EFBIG);
  }
}

Result<void> write_certificates(int directory, std::string_view name, std::string_view text) {
  const auto failed = [&] {
    return fail(setup_error("cannot write the certificates of the run", errno));
  };
  const std::string file(name);
  const Fd out(::openat(directory, file.c_str(),
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!out.valid()) return failed();
  if (const int error = write_whole(out.get(), text); error != 0) {
    errno = error;
    return failed();
  }
  // Whoever the command runs as reads it, whatever the caller's mask is.
  if (::fchmod(out.get(), 0444) < 0) return failed();
  return {};
}

}  // namespace

std::string trust_source(const Judgement& judgement, const Caller& caller) {
  const auto named = caller.environment.find("SSL_CERT_FILE");
  if (named != caller.environment.end() && !named->second.empty()) {
    const auto place = canonicalize_existing(named->second, caller.cwd, caller);
    const bool shown = place && decide(judgement.clamped, judgement.survey.facts, caller,
                                       Access::Read, place->path)
                                    .allowed;
    if (shown) return place->path;
  }
  for (const std::string& store : judgement.survey.facts.trust_stores) {
    if (!is_java_store(store)) return store;
  }
  return {};
}

Result<void> write_trust(const PlanRequest& request, const std::string& authority) {
  std::string bundle;
  if (!request.trust_source.empty()) {
    CORDON_TRY(trusted, read_trusted(request.trust_source));
    bundle = certificates_in(trusted);
  }
  std::string store;
  if (const std::vector<std::string> stores = java_trust_stores(); !stores.empty()) {
    CORDON_TRY(trusted, read_trusted(stores.front()));
    store = std::move(trusted);
  }
  const std::string java = java_trust(store, bundle, authority);
  bundle += authority;
  CORDON_CHECK(open_private_directory(request.private_directory));
  CORDON_TRY(directory, open_private_directory(request.trust_directory));
  if (::fchmod(directory.get(), 0755) < 0) {
    return fail(setup_error("cannot make " + quote(request.trust_directory), errno));
  }
  CORDON_CHECK(write_certificates(directory.get(), kTrustBundle, bundle));
  CORDON_CHECK(write_certificates(directory.get(), kJavaTrust, java));
  return write_certificates(directory.get(), kRunAuthority, authority);
}

}  // namespace cordon
