#include "sys/socket_source.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "sys/passing.h"

namespace cordon::sys {
namespace {

constexpr int kPatienceMilliseconds = 5000;

struct Question {
  int domain = 0;
};
// With the socket beside it if the error is zero.
struct Answer {
  int error = 0;
};

}  // namespace

int give_socket(int source) {
  Question question;
  const ssize_t got = ::recv(source, &question, sizeof question, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (got != static_cast<ssize_t>(sizeof question)) return -EPIPE;
  const bool inet = question.domain == AF_INET || question.domain == AF_INET6;
  const int made =
      inet ? ::socket(question.domain, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
  Answer answer;
  if (made < 0) {
    answer.error = inet ? errno : EAFNOSUPPORT;
    return ::send(source, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
  }
  const ssize_t sent = send_passing(source, &answer, sizeof answer, {&made, 1});
  const int error = sent < 0 ? -errno : 0;
  ::close(made);
  return error;
}

int take_socket(int taker, int domain) {
  const Question question{domain};
  if (::send(taker, &question, sizeof question, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return -errno;
  pollfd polled{taker, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&polled, 1, kPatienceMilliseconds);
  } while (ready < 0 && errno == EINTR);
  if (ready <= 0) return ready < 0 ? -errno : -ETIMEDOUT;
  Answer answer;
  Passed passed;
  const ssize_t got = receive_passing(taker, &answer, sizeof answer, passed);
  if (got != static_cast<ssize_t>(sizeof answer)) return -EPIPE;
  if (answer.error != 0) return -answer.error;
  return passed.count == 1 ? passed.descriptors[0] : -EPIPE;
}

}  // namespace cordon::sys
