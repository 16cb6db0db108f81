#include "faces/mcp/tools/output_progress.h"

#include <signal.h>

#include <system_error>

#include "base/terminal_text.h"
#include "faces/mcp/tools/excerpt.h"

namespace cordon::mcp {

std::string last_line(std::string_view tail, Tail kind, const SecretMask& mask) {
  constexpr std::size_t kLongest = 120;
  constexpr std::string_view kEnds = "\r\n";
  // Secrets are looked for in what is left: a colour in the middle of one would hide it.
  const std::string text = without_terminal_sequences(tail);
  const std::string_view whole = std::string_view(text).substr(0, text.find_last_of(kEnds) + 1);
  const std::size_t last = whole.find_last_not_of("\r\n\t ");
  if (last == std::string_view::npos) return {};
  const std::size_t before = whole.find_last_of(kEnds, last);
  const bool at_the_beginning = before == std::string_view::npos;
  if (at_the_beginning && kind == Tail::CutOff) return {};
  const std::size_t begin = at_the_beginning ? 0 : before + 1;
  const auto shown = SecretMask::part(text, mask.spans(text), begin, last + 1);
  return std::string(beginning_of(shown.text, kLongest));
}

OutputProgress::OutputProgress(Call& call, const SecretMask& mask) : call_(call), mask_(mask) {
  if (!call.wants_progress()) return;
  // Signals are for the thread that reads messages.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { tell_now_and_then(); });
  } catch (const std::system_error&) {
    // Without a thread the command runs all the same, and nobody is told how far it is.
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

OutputProgress::~OutputProgress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_one();
  thread_.join();
}

Output OutputProgress::output() {
  if (!thread_.joinable()) return {};
  return Output::heard_by([this](OutputFrom from, std::string_view bytes) { hear(from, bytes); });
}

void OutputProgress::hear(OutputFrom from, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  Stream& stream = streams_[from == OutputFrom::Out ? 0 : 1];
  stream.bytes += bytes.size();
  stream.tail.append(bytes);
  if (stream.tail.size() > kProgressTail) stream.tail.erase(0, stream.tail.size() - kProgressTail);
}

void OutputProgress::tell_now_and_then() {
  std::unique_lock lock(mutex_);
  while (!over_.wait_for(lock, kProgressInterval, [this] { return is_over_; })) tell(lock);
}

// Call::progress leaves out what has not grown.
void OutputProgress::tell(std::unique_lock<std::mutex>& lock) {
  const std::uint64_t bytes = streams_[0].bytes + streams_[1].bytes;
  if (bytes == 0) return;
  const Stream shown = streams_[streams_[0].bytes > 0 ? 0 : 1];
  lock.unlock();
  const Tail kind = shown.bytes > shown.tail.size() ? Tail::CutOff : Tail::Whole;
  call_.progress(static_cast<double>(bytes), std::nullopt, last_line(shown.tail, kind, mask_));
  lock.lock();
}

}  // namespace cordon::mcp
