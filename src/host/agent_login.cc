#include "host/agent_login.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/text.h"
#include "host/look.h"
#include "host/private_file.h"

namespace cordon {
namespace {

constexpr std::size_t kLargest = std::size_t{64} * 1024;

Error refused_login(const std::string& login, const std::string& why, std::string hint,
                    int number = 0) {
  Error error = policy_error("the login ~/" + login + " cannot be shared: " + why, std::move(hint));
  error.error_number = number;
  return error;
}

Result<std::string> read_login(const std::string& login, const Caller& caller) {
  const Fd home = open_canonical(caller.home, O_PATH | O_DIRECTORY | O_CLOEXEC);
  // Non-blocking: a FIFO under this name would stop the launch for ever.
  const Fd file = open_beneath(home.get(), login, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (!file.valid()) {
    const int why = errno;
    if (why == ELOOP) {
      return fail(refused_login(login, "a symlink leads to it", "put the file itself there"));
    }
    return fail(refused_login(login, "it cannot be opened",
                              "log in outside first, or drop share_login and log in inside", why));
  }
  const std::optional<Looked> seen = look(file.get());
  if (!seen || seen->kind != FileKind::Regular) {
    return fail(refused_login(login, "it is not a regular file", ""));
  }
  if (seen->owner != caller.uid) {
    return fail(refused_login(login, "it belongs to another user", "log in as yourself"));
  }
  if ((seen->mode & kOthersMayWrite) != 0) {
    return fail(refused_login(login, "others may write it", "chmod 600 ~/" + login));
  }
  std::optional<std::string> content = read_all(file.get(), kLargest);
  if (!content || content->empty()) {
    return fail(refused_login(login, "it is empty or larger than 64 KiB", "log in anew outside"));
  }
  return *std::move(content);
}

}  // namespace

Result<LoginCopy> copy_login(const std::string& login, const Caller& caller, int private_home) {
  const std::size_t slash = login.find('/');
  const std::string directory = login.substr(0, slash);
  const std::string name = login.substr(slash + 1);
  const std::string hint = "remove it from the private home of this project in Cordon's state";
  if (::mkdirat(private_home, directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(setup_error("cannot make " + quote(directory) + " in the private home", errno));
  }
  const Fd place =
      open_beneath(private_home, directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (!place.valid()) {
    return fail(
        setup_error(quote(directory) + " in the private home is not a directory", errno, hint));
  }
  if (look(place.get(), name)) return LoginCopy::Kept;
  CORDON_TRY(content, read_login(login, caller));
  const int error = put_file(place.get(), name, content, kOwnerOnlyFile);
  if (error == EEXIST) return LoginCopy::Kept;
  if (error != 0) return fail(setup_error("cannot copy the login ~/" + login, error));
  return LoginCopy::Made;
}

}  // namespace cordon
