#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <span>

#include "cli/verbs.h"

namespace {

// A missing 0, 1 or 2 would be taken by the next file that is opened, and a report or a command's
// stream would be written into it.
bool standard_streams_are_open() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", O_RDWR) != fd)
      return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kRefused = 125;
  if (!standard_streams_are_open()) return kRefused;
  const std::span<const char* const> words(argv, static_cast<std::size_t>(argc));
  return cordon::command_line(words.subspan(argc > 0 ? 1 : 0));
}
