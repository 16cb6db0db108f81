#include "backend/native/launch_parts.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "backend/native/odd_host.h"
#include "base/path.h"
#include "base/text.h"
#include "sys/calls.h"

namespace cordon::native {
namespace {

// The granted object that an operation is about; its identity is zero if there is none.
struct Granted {
  const std::string* path = nullptr;
  FileId id;
};

Granted granted_by(const Op& operation) {
  if (const auto* bind = std::get_if<op::Bind>(&operation)) return {&bind->source, bind->id};
  if (const auto* rule = std::get_if<op::LandlockAllow>(&operation)) return {&rule->path, rule->id};
  return {};
}

// A home or a project that is mounted noexec: the file's own mode says otherwise.
void name_noexec(const Plan& plan, Error& error) {
  const std::string mountinfo = read_mountinfo();
  for (const std::string& candidate : plan.candidates) {
    const std::string path = candidate.starts_with('/') ? candidate : join(plan.cwd, candidate);
    const std::string mount = noexec_mount(normalize(path), mountinfo);
    if (mount.empty() || ::access(path.c_str(), F_OK) != 0) continue;
    error.what += ": " + quote(mount) + " is mounted noexec";
    error.hint =
        "give a script to its interpreter (sh FILE), or keep programs on a file system "
        "that is mounted with exec";
    return;
  }
}

}  // namespace

Error command_error(const Plan& plan, int number) {
  Error error{.kind = ErrorKind::Command, .error_number = number};
  const std::string name = quote(plan.argv.front());
  if (number == ENOENT) {
    error.what = name + " does not exist inside the sandbox";
    error.exit_status = 127;
    error.error_number = 0;
  } else if (number == ELIBACC) {
    error.what = "the interpreter that " + name + " names does not exist inside the sandbox";
    error.exit_status = 126;
    error.error_number = 0;
  } else {
    error.what = name + " cannot be executed inside the sandbox";
    error.exit_status = 126;
    if (number == EACCES) name_noexec(plan, error);
  }
  return error;
}

Result<void> write_map(pid_t pid, const char* file, const std::string& map) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + file;
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid() || ::write(fd.get(), map.data(), map.size()) < 0) {
    return fail(setup_error(std::string("cannot write ") + file, errno));
  }
  return {};
}

Result<std::vector<Fd>> pin(const Plan& plan) {
  std::vector<Fd> pins;
  for (const Op& operation : plan.build) {
    const Granted granted = granted_by(operation);
    if (granted.id == FileId{}) continue;
    Fd fd(sys::openat2(AT_FDCWD, granted.path->c_str(), O_PATH | O_CLOEXEC, 0,
                       sys::kResolveNoSymlinks | sys::kResolveNoMagicLinks));
    if (fd.get() == -EMFILE || fd.get() == -ENFILE) {
      return fail(setup_error("cannot hold " + quote(*granted.path) + " while the sandbox is built",
                              -fd.get(), "raise the limit of open files: ulimit -n"));
    }
    sys::FileStatus status{};
    const bool same = fd.get() >= 0 && sys::status_of(fd.get(), status) == 0 &&
                      FileId{status.device, status.inode} == granted.id;
    if (!same) {
      Error error =
          setup_error("a granted path changed while it was being judged: " + quote(*granted.path),
                      ESTALE, "run again");
      error.operation = describe(operation);
      return fail(std::move(error));
    }
    pins.push_back(std::move(fd));
  }
  return pins;
}

SignalsBlocked::SignalsBlocked() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsBlocked::~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace cordon::native
