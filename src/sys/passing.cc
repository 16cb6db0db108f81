#include "sys/passing.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace cordon::sys {
namespace {

constexpr std::size_t kSpace = CMSG_SPACE(kMostPassed * sizeof(int));

}  // namespace

ssize_t send_passing(int socket, const void* data, std::size_t size, std::span<const int> passed) {
  if (passed.size() > kMostPassed) {
    errno = EINVAL;
    return -1;
  }
  iovec part{const_cast<void*>(data), size};
  alignas(cmsghdr) char control[kSpace] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = CMSG_SPACE(passed.size_bytes());
  cmsghdr* rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(passed.size_bytes());
  std::memcpy(CMSG_DATA(rights), passed.data(), passed.size_bytes());
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

ssize_t receive_passing(int socket, void* data, std::size_t size, Passed& passed) {
  iovec part{data, size};
  alignas(cmsghdr) char control[kSpace] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  passed.count = 0;
  const cmsghdr* rights = got < 0 ? nullptr : CMSG_FIRSTHDR(&header);
  if (rights != nullptr && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS) {
    passed.count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    std::memcpy(passed.descriptors.data(), CMSG_DATA(rights), passed.count * sizeof(int));
  }
  return got;
}

}  // namespace cordon::sys
