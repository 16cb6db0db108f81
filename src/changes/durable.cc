#include "changes/durable.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "changes/take.h"
#include "host/inspect.h"

namespace cordon {
namespace {

// Up to here each file is synced by itself.
constexpr std::size_t kFewFiles = 32;

}  // namespace

void Durable::file(int directory, const std::string& name) {
  if (++count_ > kFewFiles) return;
  Fd opened = open_kept_file(directory, name);
  if (opened.valid()) files_.push_back(std::move(opened));
}

void Durable::directory(int opened) {
  const auto seen = inspect_fd(opened);
  if (!seen || !directories_seen_.insert(seen->id).second) return;
  // One of each file system is enough for all of it.
  const bool another = systems_seen_.insert(seen->id.device).second;
  if (++count_ > kFewFiles && !another) return;
  directories_.push_back(Fd(::fcntl(opened, F_DUPFD_CLOEXEC, 0)));
}

int Durable::sync() {
  int error = 0;
  const bool many = count_ > kFewFiles;
  for (const Fd& fd : files_)
    if (!many && ::fsync(fd.get()) != 0) error = errno;
  for (const Fd& fd : directories_)
    if ((many ? ::syncfs(fd.get()) : ::fsync(fd.get())) != 0) error = errno;
  *this = Durable();
  return error;
}

}  // namespace cordon
