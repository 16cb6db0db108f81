#include "apply/policy_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "base/result.h"
#include "base/text.h"

namespace cordon::apply {
namespace {

constexpr mode_t kOwnerOnly = 0600;
constexpr mode_t kPermissionBits = 07777;

Judged<std::string> read_to_end(int descriptor) {
  std::string text(kLongestPolicy + 1, '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const ssize_t got = ::read(descriptor, text.data() + length, text.size() - length);
    if (got == 0) break;
    if (got > 0) {
      length += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      return tl::unexpected(with_errno(Status::Permission, "cannot read the policy", errno));
    }
  }
  if (length > kLongestPolicy) return refuse(Status::Policy, "the policy is longer than 64 KiB");
  text.resize(length);
  return text;
}

Judged<void> check_owner(int descriptor, const std::string& shown_path) {
  struct stat file {};
  if (::fstat(descriptor, &file) < 0) {
    return tl::unexpected(with_errno(Status::Permission, "cannot look at " + shown_path, errno));
  }
  if (!S_ISREG(file.st_mode)) {
    return refuse(Status::Permission, shown_path + " is not a regular file");
  }
  if (file.st_uid != ::getuid()) {
    return refuse(Status::Permission, shown_path + " belongs to somebody else");
  }
  if ((file.st_mode & kPermissionBits) != kOwnerOnly) {
    return refuse(Status::Permission, shown_path + " must have the mode 0600");
  }
  return {};
}

}  // namespace

Judged<std::string> read_policy_file(const std::string& path) {
  // A pipe put there would keep the open waiting.
  const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.valid()) {
    const int error = errno;
    if (error == ELOOP) return refuse(Status::Permission, quote(path) + " is a symlink");
    return tl::unexpected(with_errno(Status::Permission, "cannot open " + quote(path), error));
  }
  CORDON_CHECK(check_owner(file.get(), quote(path)));
  return read_to_end(file.get());
}

Judged<std::string> read_policy_descriptor(int descriptor) {
  const Fd source(descriptor);
  return read_to_end(source.get());
}

Judged<SafeClawPolicy> parse_policy(const std::string& text, const std::string& name) {
  const auto refused = [](const Error& error) {
    return refuse(Status::Policy, message(error) + (error.hint.empty() ? "" : "; " + error.hint));
  };
  const auto document = read_json(text, name);
  if (!document) return refused(document.error());
  auto policy = decode_safeclaw(*document, name);
  if (!policy) return refused(policy.error());
  return std::move(*policy);
}

}  // namespace cordon::apply
