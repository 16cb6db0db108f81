// What doctor runs inside its sandboxes. Each attempt is harmless anywhere; its exit status is 0 if
// it succeeded and the errno of the refused call otherwise.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "cli/doctor_check.h"
#include "cli/talk.h"

namespace cordon {
namespace {

int attempt_read(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char byte = 0;
  if (!file.valid() || ::read(file.get(), &byte, 1) < 0) return errno;
  return 0;
}

int attempt_write(const std::string& path) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file.valid() || ::write(file.get(), "x", 1) < 0) return errno;
  return 0;
}

int attempt_connect(const std::string& port) {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return errno;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(parse_number(port).value_or(0)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  return ::connect(socket.get(), generic, sizeof address) < 0 ? errno : 0;
}

// As many children as asked for, alive at one time.
int attempt_fork(const std::string& count) {
  const std::uint64_t wanted = parse_number(count).value_or(0);
  std::vector<pid_t> children;
  int error = 0;
  for (std::uint64_t i = 0; i < wanted && error == 0; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::pause();
      ::_exit(0);
    }
    if (child < 0) {
      error = errno;
    } else {
      children.push_back(child);
    }
  }
  for (const pid_t child : children) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  return error;
}

// A grandchild in a session of its own that holds a lock on the file until it is killed. It writes
// to the file once it has the lock.
int attempt_linger(const std::string& path) {
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (!file.valid() || ::flock(file.get(), LOCK_EX) < 0 || ::write(file.get(), "x", 1) < 0) {
      ::_exit(1);
    }
    for (;;) ::pause();
  }
  for (;;) ::pause();
}

}  // namespace

int doctor_inside(const std::vector<std::string>& words) {
  constexpr int kUsage = 2;
  if (words.size() != 2) return kUsage;
  if (words[0] == "read") return attempt_read(words[1]);
  if (words[0] == "write") return attempt_write(words[1]);
  if (words[0] == "connect") return attempt_connect(words[1]);
  if (words[0] == "fork") return attempt_fork(words[1]);
  if (words[0] == "linger") return attempt_linger(words[1]);
  return kUsage;
}

}  // namespace cordon
