#include "mcp/http/event_stream.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace cordon::mcp {
namespace {

constexpr std::size_t kDropBytes = std::size_t{256} << 10U;

}  // namespace

EventStream::EventStream() : changed_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void EventStream::send(std::string message, Weight weight) {
  const std::lock_guard lock(mutex_);
  if (ended_ || (weight == Weight::Droppable && queued_bytes_ > kDropBytes)) return;
  add(std::move(message));
}

void EventStream::answer(std::string message, std::optional<int> error_code) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  plain_ = queue_.empty();
  error_code_ = error_code;
  ended_ = true;
  add(std::move(message));
}

void EventStream::close() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  tell();
}

bool EventStream::abandon() {
  const std::lock_guard lock(mutex_);
  return !std::exchange(ended_, true);
}

void EventStream::add(std::string message) {
  queued_bytes_ += message.size();
  queue_.push_back(std::move(message));
  tell();
}

void EventStream::tell() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(changed_.get(), &one, sizeof one);
}

std::optional<EventStream::Plain> EventStream::take_plain() {
  const std::lock_guard lock(mutex_);
  if (!ended_ || !plain_) return std::nullopt;
  return Plain{std::move(queue_.front()), error_code_};
}

EventStream::Next EventStream::next(int connection, std::chrono::milliseconds patience,
                                    std::string& message) {
  const auto take = [&]() -> Next {
    const std::lock_guard lock(mutex_);
    if (queue_.empty()) return ended_ ? Next::Ended : Next::Quiet;
    message = std::move(queue_.front());
    queue_.pop_front();
    queued_bytes_ -= message.size();
    return Next::Message;
  };
  if (const Next now = take(); now != Next::Quiet) return now;
  std::array<pollfd, 2> waits = {{{changed_.get(), POLLIN, 0}, {connection, POLLRDHUP, 0}}};
  if (::poll(waits.data(), waits.size(), static_cast<int>(patience.count())) < 0) {
    return errno == EINTR ? Next::Quiet : Next::Gone;
  }
  if (waits[1].revents != 0) return Next::Gone;
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(changed_.get(), &count, sizeof count);
  return take();
}

}  // namespace cordon::mcp
