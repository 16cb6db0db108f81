#include "audit/decoded_lines.h"

#include <algorithm>
#include <system_error>
#include <thread>

namespace cordon::audit {
namespace {

// What one thread decodes at a time: enough that starting it costs nothing.
constexpr std::size_t kBatchLines = 2048;
constexpr std::size_t kBatchBytes = 2 * 1024 * 1024;
constexpr std::size_t kFewLines = 64;
constexpr unsigned kMostThreads = 8;

}  // namespace

Result<const DecodedLine*> DecodedLines::next() {
  while (batch_ == nullptr || at_ == batch_->lines.size()) {
    if (read_all_ && decoding_.empty() && batch_ != nullptr) return nullptr;
    CORDON_CHECK(advance());
  }
  return &batch_->lines[at_++];
}

// Keeps every processor at a batch, and takes the oldest.
Result<void> DecodedLines::advance() {
  const std::size_t most = std::clamp(std::thread::hardware_concurrency(), 1u, kMostThreads);
  while (!read_all_ && decoding_.size() < most) {
    CORDON_TRY(batch, read());
    // Handed over in a pointer of its own: the task may have to be made a second time.
    const auto held = std::make_shared<Owned>(std::move(batch));
    const auto work = [this, held] {
      decode(**held);
      return std::move(*held);
    };
    const bool few = (*held)->lines.size() < kFewLines;
    try {
      decoding_.push_back(std::async(few ? std::launch::deferred : std::launch::async, work));
    } catch (const std::system_error&) {
      // No further thread is to be had: this one does it when its turn comes.
      decoding_.push_back(std::async(std::launch::deferred, work));
    }
  }
  batch_ = decoding_.front().get();
  decoding_.pop_front();
  at_ = 0;
  return {};
}

Result<DecodedLines::Owned> DecodedLines::read() {
  auto batch = std::make_unique<Batch>();
  Line line;
  while (batch->lines.size() < kBatchLines && batch->bytes.size() < kBatchBytes) {
    CORDON_TRY(more, reader_.next(line));
    if (!more) {
      read_all_ = true;
      break;
    }
    batch->bytes.append(line.text);
    batch->lines.push_back({line, std::nullopt, false});
  }
  // Only now: `bytes` has stopped moving.
  std::size_t at = 0;
  for (DecodedLine& decoded : batch->lines) {
    const std::size_t size = decoded.line.text.size();
    decoded.line.text = std::string_view(batch->bytes).substr(at, size);
    at += size;
  }
  return batch;
}

void DecodedLines::decode(Batch& batch) const {
  for (DecodedLine& decoded : batch.lines) {
    if (!decoded.line.complete || decoded.line.overlong) continue;
    decoded.record.emplace(decode_line(decoded.line.text));
    const Result<Record>& record = *decoded.record;
    decoded.keyed = key_ && record && is_keyed(*key_, decoded.line.text, *record);
  }
}

}  // namespace cordon::audit
