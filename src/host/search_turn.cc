#include "host/search_turn.h"

#include <fcntl.h>

#include <cerrno>
#include <map>
#include <thread>

#include "base/file_id.h"
#include "base/path.h"
#include "base/private_directory.h"
#include "host/inspect.h"

namespace cordon {
namespace {

// Where the byte of an object lies. That two objects share one costs a wait, never a search.
off_t byte_of(FileId id) {
  constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15;
  const std::uint64_t mixed = (id.inode + kSpread * (id.device + 1)) * kSpread;
  return static_cast<off_t>((mixed ^ (mixed >> 32)) >> 2);
}

// Each byte once, and the stronger lock of two.
using Wanted = std::map<off_t, short>;

void want(const std::string& path, short type, Wanted& wanted) {
  const auto seen = inspect_path(path);
  if (!seen) return;
  short& lock = wanted.try_emplace(byte_of(seen->id), static_cast<short>(F_RDLCK)).first->second;
  if (type == F_WRLCK) lock = F_WRLCK;
}

Wanted wanted_for(std::span<const Grant> writable) {
  Wanted wanted;
  for (const Grant& grant : writable) {
    want(grant.path, F_WRLCK, wanted);
    std::string above = grant.path;
    while (above != "/" && !above.empty()) {
      above = std::string(parent(above));
      want(above, F_RDLCK, wanted);
    }
  }
  return wanted;
}

int try_lock(int file, off_t byte, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  // Of the open file, not of the process: two sessions of one server take turns as well.
  return ::fcntl(file, F_OFD_SETLK, &lock) == 0 ? 0 : errno;
}

}  // namespace

Result<SearchTurn> SearchTurn::wait_for(const std::string& state_directory,
                                        std::span<const Grant> writable,
                                        std::chrono::milliseconds longest) {
  using std::chrono::steady_clock;
  CORDON_TRY(directory, open_private_directory(state_directory));
  Fd file(
      ::openat(directory.get(), "searches.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return fail(setup_error("cannot open searches.lock", errno));
  const auto until = steady_clock::now() + longest;
  // The same for all: whoever has waited long would lose to newcomers that look more often.
  constexpr std::chrono::milliseconds kPause{2};
  // All in one order, so that no two searches wait for each other.
  for (const auto& [byte, type] : wanted_for(writable)) {
    for (;;) {
      const int error = try_lock(file.get(), byte, type);
      if (error == 0) break;
      if (error != EAGAIN && error != EACCES && error != EINTR)
        return fail(setup_error("cannot lock searches.lock", error));
      if (steady_clock::now() >= until)
        return fail(setup_error("the search after another run in this tree does not end", 0,
                                "end that run, then start another one here: it searches again"));
      std::this_thread::sleep_for(kPause);
    }
  }
  return SearchTurn(std::move(file));
}

}  // namespace cordon
