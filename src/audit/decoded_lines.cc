#include "audit/decoded_lines.h"

#include <algorithm>
#include <span>
#include <system_error>
#include <thread>

namespace cordon::audit {
namespace {

// What one thread decodes at a time: enough that starting it costs nothing.
constexpr std::size_t kBatchLines = 1024;
constexpr std::size_t kBatchBytes = 2 * 1024 * 1024;
constexpr std::size_t kFewLines = 64;
constexpr unsigned kMostThreads = 8;

}  // namespace

Result<const DecodedLine*> DecodedLines::next() {
  while (batch_ == nullptr || at_ == batch_->count) {
    if (read_all_ && decoding_.empty() && batch_ != nullptr) return nullptr;
    CORDON_CHECK(advance());
  }
  return &batch_->lines[at_++];
}

// Keeps every processor at a batch, and one more waiting while lines are made use of; takes the
// oldest.
Result<void> DecodedLines::advance() {
  const std::size_t most = std::clamp(std::thread::hardware_concurrency(), 1u, kMostThreads) + 1;
  spent_ = std::move(batch_);
  while (!read_all_ && decoding_.size() < most) {
    CORDON_TRY(batch, read());
    // Handed over in a pointer of its own: the task may have to be made a second time.
    const auto held = std::make_shared<Owned>(std::move(batch));
    const auto work = [this, held] {
      decode(**held);
      return std::move(*held);
    };
    const bool few = (*held)->count < kFewLines;
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

DecodedLines::Owned DecodedLines::empty_batch() {
  Owned batch = spent_ != nullptr ? std::move(spent_) : std::make_unique<Batch>();
  batch->bytes.clear();
  batch->count = 0;
  return batch;
}

Result<DecodedLines::Owned> DecodedLines::read() {
  Owned batch = empty_batch();
  Line line;
  while (batch->count < kBatchLines && batch->bytes.size() < kBatchBytes) {
    CORDON_TRY(more, reader_.next(line));
    if (!more) {
      read_all_ = true;
      break;
    }
    batch->bytes.append(line.text);
    if (batch->count == batch->lines.size()) batch->lines.emplace_back();
    batch->lines[batch->count++].line = line;
  }
  // Only now: `bytes` has stopped moving.
  std::size_t at = 0;
  for (DecodedLine& decoded : std::span(batch->lines).first(batch->count)) {
    const std::size_t size = decoded.line.text.size();
    decoded.line.text = std::string_view(batch->bytes).substr(at, size);
    at += size;
  }
  return batch;
}

void DecodedLines::decode(Batch& batch) const {
  for (DecodedLine& decoded : std::span(batch.lines).first(batch.count)) {
    decoded.has_record = false;
    decoded.fault.reset();
    decoded.keyed = false;
    if (!decoded.line.complete || decoded.line.overlong) continue;
    auto done = decode_line(decoded.line.text, decoded.record);
    decoded.has_record = done.has_value();
    if (!done) decoded.fault = std::move(done).error();
    decoded.keyed =
        key_ && decoded.has_record && is_keyed(*key_, decoded.line.text, decoded.record);
  }
}

}  // namespace cordon::audit
