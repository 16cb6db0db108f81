#include "mcp/line_writer.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace cordon::mcp {
namespace {

constexpr std::size_t kDropBytes = std::size_t{1} << 20U;
constexpr std::size_t kCongestedBytes = std::size_t{4} << 20U;

}  // namespace

LineWriter::LineWriter(Fd out, int changed) : out_(std::move(out)), changed_(changed) {
  // The thread has every signal blocked: a reader that is gone is an error of write, not the end
  // of the process.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { write_all(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LineWriter::~LineWriter() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void LineWriter::send(std::string message, Weight weight) {
  const std::lock_guard lock(mutex_);
  if (broken_ || (weight == Weight::Droppable && queued_bytes_ > kDropBytes)) return;
  message.push_back('\n');
  queued_bytes_ += message.size();
  queue_.push_back(std::move(message));
  wake_.notify_one();
}

void LineWriter::answer(std::string message, std::optional<int> /*error_code*/) {
  send(std::move(message), Weight::Needed);
}

bool LineWriter::congested() const {
  const std::lock_guard lock(mutex_);
  return queued_bytes_ > kCongestedBytes;
}

bool LineWriter::broken() const {
  const std::lock_guard lock(mutex_);
  return broken_;
}

bool LineWriter::flush(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return empty_.wait_for(lock, patience, [&] { return broken_ || (queue_.empty() && !writing_); });
}

void LineWriter::write_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return ending_ || !queue_.empty(); });
    if (ending_ || broken_) return;
    const std::string line = std::move(queue_.front());
    queue_.pop_front();
    writing_ = true;
    lock.unlock();
    const bool written = write_line(line);
    lock.lock();
    writing_ = false;
    const bool was_congested = queued_bytes_ > kCongestedBytes;
    queued_bytes_ -= line.size();
    if (!written) {
      broken_ = true;
      queue_.clear();
      queued_bytes_ = 0;
    }
    if (queue_.empty()) empty_.notify_all();
    if (broken_ || (was_congested && queued_bytes_ <= kCongestedBytes)) tell_change();
    if (broken_) return;
  }
}

bool LineWriter::write_line(const std::string& line) const {
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t written = ::write(out_.get(), line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return true;
}

void LineWriter::tell_change() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(changed_, &one, sizeof one);
}

}  // namespace cordon::mcp
