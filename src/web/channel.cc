#include "web/channel.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>

namespace cordon::web {
namespace {

bool would_wait() { return errno == EAGAIN || errno == EINTR; }

}  // namespace

Channel::Channel(Fd socket) : socket_(std::move(socket)) {
  const int flags = ::fcntl(socket_.get(), F_GETFL);
  ::fcntl(socket_.get(), F_SETFL, flags | O_NONBLOCK);
  // A socket that is not one of TCP has no such option and needs none.
  const int on = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Channel::Moved Channel::outcome(int result, std::size_t bytes, std::uint32_t& wants) const {
  if (result > 0) return {State::Ok, bytes};
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      wants = EPOLLIN;
      return {State::Blocked, 0};
    case SSL_ERROR_WANT_WRITE:
      wants = EPOLLOUT;
      return {State::Blocked, 0};
    case SSL_ERROR_ZERO_RETURN:
      return {State::Ended, 0};
    default:
      return {State::Broken, 0};
  }
}

Channel::State Channel::shake_hands() {
  read_wants_ = write_wants_ = 0;
  if (!ssl_) return State::Ok;
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  const State state = outcome(result, 0, read_wants_).state;
  return state == State::Ended ? State::Broken : state;
}

Channel::Moved Channel::read(std::span<char> room) {
  read_wants_ = 0;
  if (ssl_) {
    std::size_t bytes = 0;
    ERR_clear_error();
    const int result = SSL_read_ex(ssl_.get(), room.data(), room.size(), &bytes);
    return outcome(result, bytes, read_wants_);
  }
  const ssize_t got = ::recv(socket_.get(), room.data(), room.size(), 0);
  if (got > 0) return {State::Ok, static_cast<std::size_t>(got)};
  if (got == 0) return {State::Ended, 0};
  if (!would_wait()) return {State::Broken, 0};
  read_wants_ = EPOLLIN;
  return {State::Blocked, 0};
}

Channel::Moved Channel::write(std::string_view bytes) {
  write_wants_ = 0;
  if (bytes.empty()) return {State::Ok, 0};
  if (ssl_) {
    std::size_t written = 0;
    ERR_clear_error();
    const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written);
    return outcome(result, written, write_wants_);
  }
  const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) return {State::Ok, static_cast<std::size_t>(sent)};
  if (!would_wait()) return {State::Broken, 0};
  write_wants_ = EPOLLOUT;
  return {State::Blocked, 0};
}

void Channel::finish() {
  ERR_clear_error();
  if (ssl_ && SSL_is_init_finished(ssl_.get())) SSL_shutdown(ssl_.get());
  ::shutdown(socket_.get(), SHUT_WR);
}

void Channel::close() {
  ssl_.reset();
  socket_.reset();
  read_wants_ = write_wants_ = 0;
}

}  // namespace cordon::web
