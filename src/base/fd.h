// Fd: a descriptor that closes itself.
#pragma once

#include <dirent.h>
#include <unistd.h>

#include <memory>
#include <string_view>
#include <utility>

namespace cordon {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

// DirectoryStream: an open list of names (readdir) that closes itself.

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using DirectoryStream = std::unique_ptr<DIR, CloseDirectory>;

// write_whole: write(2) until everything is written.

// 0, or the errno of the write that failed; what was written before it stays written. A signal does
// not end it, and a write that takes nothing counts as EIO. Async-signal-safe; allocates nothing.
int write_whole(int fd, std::string_view bytes);

// The three streams every program is started with, if whoever started it was polite.

// A missing 0, 1 or 2 would be taken by the next file that is opened, and a report or a command's
// stream would be written into it. Opens what is missing; false if that cannot be done.
bool open_standard_streams();

}  // namespace cordon
