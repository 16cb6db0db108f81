#include "faces/mcp/full/output.h"

#include <sys/random.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "base/private_directory.h"
#include "base/random_id.h"
#include "base/sha256.h"
#include "base/text.h"
#include "run/line.h"

namespace cordon::mcp {
namespace {

constexpr std::size_t kSealBytes = 12;

}  // namespace

Cursors::Cursors() {
  std::size_t done = 0;
  while (done < key_.size()) {
    const ssize_t got = ::getrandom(key_.data() + done, key_.size() - done, 0);
    if (got > 0) done += static_cast<std::size_t>(got);
  }
}

std::string Cursors::seal(std::string_view subject, std::string_view place) const {
  const Digest digest = hmac_sha256(key_, std::string(place).append("\n").append(subject));
  return to_hex(std::span(digest).first(kSealBytes));
}

std::string Cursors::make(std::string_view subject, Place place) const {
  const std::string text = std::to_string(place.first) + "-" + std::to_string(place.second);
  return text + "-" + seal(subject, text);
}

std::optional<Cursors::Place> Cursors::read(std::string_view subject,
                                            std::string_view cursor) const {
  const std::vector<std::string_view> parts = split(cursor, '-');
  if (parts.size() != 3) return std::nullopt;
  const auto first = parse_number(parts[0]);
  const auto second = parse_number(parts[1]);
  if (!first || !second) return std::nullopt;
  const Place place{*first, *second};
  // Compared as a whole: numbers with leading zeros are not what was given out.
  if (make(subject, place) != cursor) return std::nullopt;
  return place;
}

Result<Fd> nameless_file(const std::string& directory) {
  CORDON_TRY(place, open_private_directory(directory));
  constexpr mode_t kOwner = 0600;
  Fd file(::openat(place.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, kOwner));
  if (file.valid()) return file;
  // File systems without nameless files: a name of our own, taken away at once.
  const std::string name = ".output-" + random_id();
  file = Fd(::openat(place.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                     kOwner));
  if (!file.valid() || ::unlinkat(place.get(), name.c_str(), 0) < 0) {
    return fail(setup_error("cannot make a file for output", errno));
  }
  return file;
}

bool OutputStore::usable() {
  if (file_.valid() || failed_) return !failed_;
  auto made = nameless_file(directory_);
  failed_ = !made;
  if (made) file_ = std::move(*made);
  return !failed_;
}

void OutputStore::write_at(std::uint64_t place, std::string_view bytes) {
  while (!bytes.empty() && !failed_) {
    const ssize_t done =
        ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(place));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      failed_ = true;
      return;
    }
    place += static_cast<std::uint64_t>(done);
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
}

void OutputStore::add(std::string_view bytes) {
  const std::uint64_t begin = bytes_;
  bytes_ += bytes.size();
  if (bytes.empty() || !usable()) return;
  if (begin < bounds_.head) {
    const std::string_view part = bytes.substr(0, bounds_.head - begin);
    write_at(begin, part);
    bytes.remove_prefix(part.size());
  }
  write_tail(bytes);
  if (!failed_) kept_to_ = bytes_;
}

// Behind the head lies a circle: byte n of the stream is at (n - head) modulo its length.
void OutputStore::write_tail(std::string_view bytes) {
  if (bounds_.tail == 0) return;
  if (bytes.size() > bounds_.tail) bytes.remove_prefix(bytes.size() - bounds_.tail);
  std::uint64_t at = bytes_ - bytes.size() - bounds_.head;
  while (!bytes.empty() && !failed_) {
    const std::uint64_t place = at % bounds_.tail;
    const std::string_view part = bytes.substr(0, bounds_.tail - place);
    write_at(bounds_.head + place, part);
    at += part.size();
    bytes.remove_prefix(part.size());
  }
}

std::uint64_t OutputStore::tail_begin() const {
  const std::uint64_t kept = kept_to_ > bounds_.head ? kept_to_ - bounds_.head : 0;
  return kept_to_ - std::min(kept, bounds_.tail);
}

OutputStore::Piece OutputStore::read(std::uint64_t offset, std::uint64_t most) const {
  // What the disk did not take is passed over, so that a reader comes to the end.
  if (failed_ && offset >= kept_to_) return {{}, std::max(offset, bytes_)};
  const std::uint64_t head_end = std::min(bounds_.head, kept_to_);
  if (offset >= head_end) offset = std::max(offset, tail_begin());
  Piece piece{{}, offset};
  std::uint64_t end = offset < head_end ? head_end : kept_to_;
  if (offset < head_end && tail_begin() == head_end) end = kept_to_;  // nothing is missing between
  if (offset >= end) return piece;
  piece.bytes.resize(std::min(most, end - offset));
  std::size_t have = 0;
  while (have < piece.bytes.size()) {
    const std::uint64_t at = offset + have;
    const bool in_head = at < bounds_.head;
    const std::uint64_t place = in_head ? at : bounds_.head + (at - bounds_.head) % bounds_.tail;
    const std::uint64_t run = in_head ? bounds_.head - at : bounds_.head + bounds_.tail - place;
    const ssize_t got =
        ::pread(file_.get(), piece.bytes.data() + have,
                std::min<std::uint64_t>(run, piece.bytes.size() - have), static_cast<off_t>(place));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  piece.bytes.resize(have);
  return piece;
}

}  // namespace cordon::mcp
