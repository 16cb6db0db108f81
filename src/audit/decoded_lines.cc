#include "audit/decoded_lines.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>

namespace cordon::audit {
namespace {

// Some megabytes of records at one time.
constexpr std::size_t kBatchLines = 4096;
constexpr std::size_t kBatchBytes = 4 * 1024 * 1024;
// What one thread takes at a time: enough that taking costs nothing.
constexpr std::size_t kShare = 64;
constexpr unsigned kMostThreads = 8;

}  // namespace

Result<const DecodedLine*> DecodedLines::next() {
  if (at_ == batch_.size() && !ended_) {
    CORDON_CHECK(read_batch());
    decode_batch();
  }
  if (at_ == batch_.size()) return nullptr;
  return &batch_[at_++];
}

Result<void> DecodedLines::read_batch() {
  batch_.clear();
  bytes_.clear();
  at_ = 0;
  Line line;
  while (batch_.size() < kBatchLines && bytes_.size() < kBatchBytes) {
    CORDON_TRY(more, reader_.next(line));
    if (!more) {
      ended_ = true;
      break;
    }
    bytes_.append(line.text);
    batch_.push_back({line, std::nullopt, false});
  }
  // Only now: `bytes_` has stopped moving.
  std::size_t at = 0;
  for (DecodedLine& decoded : batch_) {
    const std::size_t size = decoded.line.text.size();
    decoded.line.text = std::string_view(bytes_).substr(at, size);
    at += size;
  }
  return {};
}

void DecodedLines::decode_batch() {
  std::atomic<std::size_t> taken = 0;
  const auto work = [&] {
    for (;;) {
      const std::size_t begin = taken.fetch_add(kShare);
      if (begin >= batch_.size()) return;
      for (std::size_t i = begin; i < std::min(begin + kShare, batch_.size()); ++i) {
        DecodedLine& decoded = batch_[i];
        if (!decoded.line.complete || decoded.line.overlong) continue;
        decoded.record.emplace(decode_line(decoded.line.text));
        const Result<Record>& record = *decoded.record;
        decoded.keyed = key_ && record && is_keyed(*key_, decoded.line.text, *record);
      }
    }
  };
  const std::size_t shares = (batch_.size() + kShare - 1) / kShare;
  const std::size_t most = std::clamp(std::thread::hardware_concurrency(), 1u, kMostThreads);
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < std::min(shares, most); ++i) {
    try {
      others.emplace_back(work);
    } catch (const std::system_error&) {
      break;  // no further thread is to be had: this one does the rest
    }
  }
  work();
  for (std::thread& other : others) other.join();
}

}  // namespace cordon::audit
