#include "changes/run_lock.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdint>

#include "base/private_directory.h"

namespace cordon {
namespace {

constexpr const char* kRunLocks = "changes.lock";

// Where the byte of a run lies. That two runs share one is as good as impossible, and costs a try.
off_t byte_of_run(const std::string& run_id) {
  constexpr std::uint64_t kOffset = 0xCBF29CE484222325;
  constexpr std::uint64_t kPrime = 0x100000001B3;
  std::uint64_t mixed = kOffset;
  for (const char c : run_id) mixed = (mixed ^ static_cast<unsigned char>(c)) * kPrime;
  return static_cast<off_t>(mixed >> 2U);
}

}  // namespace

Result<RunLock> RunLock::take(const std::string& state_directory, const std::string& run_id) {
  CORDON_TRY(directory, open_private_directory(state_directory));
  Fd file(::openat(directory.get(), kRunLocks, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) {
    return fail(setup_error("cannot open " + std::string(kRunLocks), errno));
  }
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte_of_run(run_id);
  lock.l_len = 1;
  // Of the open file, not of the process: two runs of one server are told apart as well.
  if (::fcntl(file.get(), F_OFD_SETLK, &lock) == 0) return RunLock(std::move(file));
  if (errno != EAGAIN && errno != EACCES) {
    return fail(setup_error("cannot lock " + std::string(kRunLocks), errno));
  }
  return fail(setup_error("somebody else is at work on the changes of run " + run_id, 0,
                          "wait until the run, or the other cordon changes, has ended"));
}

}  // namespace cordon
