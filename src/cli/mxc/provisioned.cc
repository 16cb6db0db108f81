#include "cli/mxc/provisioned.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/path.h"
#include "base/private_directory.h"
#include "host/private_file.h"

namespace cordon::mxc {
namespace {

Result<Fd> open_store(const Caller& caller) {
  return open_private_directory(join(caller.state_directory, "mxc"));
}

PhaseAnswer failed_phase(std::string_view code, Error error) {
  return tl::make_unexpected(PhaseFault{code, std::move(error)});
}

Node nothing() { return NodeMap{}; }

}  // namespace

Result<void> Provisioned::keep(const Caller& caller, const std::string& token,
                               const std::string& document) {
  CORDON_TRY(directory, open_store(caller));
  if (const int error = put_file(directory.get(), token, document, 0600); error != 0) {
    return fail(setup_error("cannot keep the sandbox's policy", error));
  }
  return {};
}

tl::expected<Provisioned, PhaseFault> Provisioned::find(const Caller& caller,
                                                        const std::string& token) {
  auto directory = open_store(caller);
  if (!directory) {
    return tl::make_unexpected(PhaseFault{"backend_error", std::move(directory).error()});
  }
  if (::faccessat(directory->get(), token.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
    return tl::make_unexpected(PhaseFault{"stale_id", policy_error("there is no such sandbox")});
  }
  return Provisioned(std::move(*directory), token);
}

Result<Node> Provisioned::document() const {
  const Fd file(::openat(directory_.get(), token_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid()) return fail(setup_error("cannot read the sandbox's policy", errno));
  std::string text;
  std::array<char, 65536> block{};
  while (true) {
    const ssize_t got = ::read(file.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(setup_error("cannot read the sandbox's policy", errno));
    if (got == 0) break;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  return read_json(text, "the provisioned request");
}

bool Provisioned::started() const {
  return ::faccessat(directory_.get(), mark().c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

PhaseAnswer Provisioned::start() {
  const Fd made(::openat(directory_.get(), mark().c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (made.valid()) return nothing();
  if (errno == EEXIST)
    return failed_phase("already_started", policy_error("the sandbox was started"));
  return failed_phase("backend_error", setup_error("cannot start the sandbox", errno));
}

PhaseAnswer Provisioned::stop() {
  if (::unlinkat(directory_.get(), mark().c_str(), 0) == 0) return nothing();
  if (errno == ENOENT)
    return failed_phase("not_started", policy_error("the sandbox was not started"));
  return failed_phase("backend_error", setup_error("cannot stop the sandbox", errno));
}

PhaseAnswer Provisioned::remove() {
  ::unlinkat(directory_.get(), mark().c_str(), 0);
  if (::unlinkat(directory_.get(), token_.c_str(), 0) == 0) return nothing();
  if (errno == ENOENT) return failed_phase("stale_id", policy_error("there is no such sandbox"));
  return failed_phase("backend_error", setup_error("cannot remove the sandbox", errno));
}

}  // namespace cordon::mxc
