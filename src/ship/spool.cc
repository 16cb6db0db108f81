#include "ship/spool.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "audit/checkpoint.h"
#include "audit/files.h"
#include "base/path.h"
#include "config/node.h"

namespace cordon::ship {
namespace {

using audit::audit_error;

constexpr std::size_t kMostCheckpoints = 2000;

std::string text_of(const Position& position) {
  Node node;
  node.set("v", 1)
      .set("day", position.day)
      .set("line_start", Node(position.line_start))
      .set("offset", Node(position.offset))
      .set("seq", Node(position.seq))
      .set("digest", position.digest)
      .set("signed_seq", Node(position.signed_seq))
      .set("checkpoints", Node(position.checkpoints));
  return write_json(node, JsonStyle::Compact) + "\n";
}

std::optional<Position> position_in(std::string_view text) {
  const auto node = read_json(text, "position");
  if (!node || audit::number_in(*node, "v") != 1) return std::nullopt;
  const auto number = [&](const char* key) {
    return static_cast<std::uint64_t>(audit::number_in(*node, key).value_or(0));
  };
  return Position{audit::text_in(*node, "day").value_or(""),
                  number("line_start"),
                  number("offset"),
                  number("seq"),
                  audit::text_in(*node, "digest").value_or(""),
                  number("signed_seq"),
                  number("checkpoints")};
}

std::string content_of(int directory, const std::string& name) {
  constexpr std::size_t kMost = 4096;
  const auto file = audit::open_private_file(directory, name, O_RDONLY);
  if (!file) return {};
  std::string text(kMost, '\0');
  const ssize_t got = ::pread(file->get(), text.data(), text.size(), 0);
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

Result<std::uint64_t> size_of(const Fd& file) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0)
    return fail(audit_error("cannot examine the audit log", errno));
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace

Result<Spool> Spool::open(const audit::Place& place, const std::string& state_directory,
                          const std::string& target, audit::IfAbsent absent) {
  CORDON_TRY(log, audit::open_private_directory(place.directory, absent));
  CORDON_TRY(places,
             audit::open_private_directory(join(state_directory, "ship"), audit::IfAbsent::Make));
  const std::string name = sha256_hex(target).substr(0, 16);
  CORDON_TRY(lock, audit::open_private_file(places.get(), name + ".lock", O_RDWR | O_CREAT));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK)
      return fail(audit_error("cannot lock the position of this log", errno));
    return fail(audit_error("another cordon audit ship copies this log there", 0,
                            "one is enough: it goes on by itself with --follow"));
  }
  Spool spool(place, std::move(log), std::move(places), std::move(lock), name + ".json");
  spool.find_position();
  return spool;
}

std::string Spool::why_it_does_not_fit(const Position& read) const {
  const auto file = audit::open_private_file(log_.get(), audit::file_of_day(read.day), O_RDONLY);
  // Removed by the bounds that an operator set: what is there was not copied.
  if (!file && file.error().error_number == ENOENT) return {};
  std::string changed = "the log is no longer the one that was copied up to record " +
                        std::to_string(read.seq) + ": it is copied again from its beginning";
  if (!file || read.offset <= read.line_start ||
      read.offset - read.line_start > audit::kLongestLine)
    return changed;
  std::string line(read.offset - read.line_start, '\0');
  const ssize_t got =
      ::pread(file->get(), line.data(), line.size(), static_cast<off_t>(read.line_start));
  if (got != static_cast<ssize_t>(line.size()) || !line.ends_with('\n')) return changed;
  line.pop_back();
  return sha256_hex(line) == read.digest ? std::string() : changed;
}

void Spool::find_position() {
  const std::string text = content_of(places_.get(), name_);
  if (text.empty()) return;
  const auto read = position_in(text);
  if (!read) {
    restarted_ =
        "the file that tells how far the log was copied cannot be read: it is copied again from "
        "its beginning";
    return;
  }
  if (!read->day.empty()) restarted_ = why_it_does_not_fit(*read);
  if (restarted_.empty()) position_ = *read;
}

Result<void> Spool::read_day(const std::string& day, BatchBounds bounds, Batch& batch) const {
  auto opened = audit::open_private_file(log_.get(), audit::file_of_day(day), O_RDONLY);
  // A run that ended meanwhile has removed it: nobody keeps it any more.
  if (!opened && opened.error().error_number == ENOENT) return {};
  CORDON_TRY(file, std::move(opened));
  CORDON_TRY(size, size_of(file));
  Position& behind = batch.behind;
  const std::uint64_t from = day == behind.day ? behind.offset : 0;
  if (size <= from) return {};
  // Up to `size` this makes durable what a writer has not synced yet.
  if (::fdatasync(file.get()) != 0) return fail(audit_error("cannot sync the audit log", errno));
  audit::LineReader reader(file.get(), from, size);
  audit::Line line;
  while (batch.records.size() < bounds.records && batch.bytes < bounds.bytes) {
    CORDON_TRY(more, reader.next(line));
    // A line that was not ended is completed or cut off by a writer; it is looked at again.
    if (!more || !line.complete) return {};
    Shipped shipped;
    shipped.line = std::string(line.text);  // empty if it is longer than a record
    const auto record = audit::decode_line(shipped.line);
    shipped.columns = columns_of(record ? &*record : nullptr);
    // What is no record stands where the next one belongs.
    const bool numbered = record && record->seq != 0 && record->seq < (std::uint64_t{1} << 62U);
    shipped.seq = numbered ? record->seq : behind.seq + 1;
    batch.bytes += shipped.line.size();
    behind.day = day;
    behind.line_start = line.offset;
    behind.offset = line.end();
    behind.seq = shipped.seq;
    behind.digest = sha256_hex(shipped.line);
    batch.records.push_back(std::move(shipped));
  }
  return {};
}

Result<void> Spool::read_checkpoints(Batch& batch) const {
  auto opened = audit::open_private_file(log_.get(), audit::kCheckpointFile, O_RDONLY);
  if (!opened && opened.error().error_number == ENOENT) return {};
  CORDON_TRY(file, std::move(opened));
  CORDON_TRY(size, size_of(file));
  std::uint64_t& behind = batch.behind.checkpoints;
  if (size < behind) behind = 0;  // another file: what is stored already is passed over
  audit::LineReader reader(file.get(), behind, size);
  audit::Line line;
  while (batch.checkpoints.size() < kMostCheckpoints) {
    CORDON_TRY(more, reader.next(line));
    if (!more || !line.complete) return {};
    const auto checkpoint = audit::read_checkpoint(line.text);
    // About a record that is still to be copied: it comes with that one.
    if (checkpoint && checkpoint->seq > batch.behind.seq) return {};
    batch.checkpoints.emplace_back(line.text);
    behind = line.end();
  }
  return {};
}

Result<Batch> Spool::next(BatchBounds bounds) {
  Batch batch;
  batch.behind = position_;
  CORDON_TRY(days, audit::list_days(log_.get()));
  for (const std::string& day : days) {
    if (day < position_.day) continue;
    // What is left of a day comes before the next one.
    if (batch.records.size() >= bounds.records || batch.bytes >= bounds.bytes) break;
    CORDON_CHECK(read_day(day, bounds, batch));
  }
  CORDON_CHECK(read_checkpoints(batch));
  return batch;
}

Result<void> Spool::committed(const Batch& batch) {
  position_ = batch.behind;
  return write_position();
}

Result<void> Spool::end_signed() {
  position_.signed_seq = position_.seq;
  return write_position();
}

Result<void> Spool::write_position() const {
  const std::string text = text_of(position_);
  const std::string made = name_ + ".new";
  CORDON_TRY(file, audit::open_private_file(places_.get(), made, O_WRONLY | O_CREAT | O_TRUNC));
  if (const int why = write_whole(file.get(), text); why != 0)
    return fail(audit_error("cannot write how far the log was copied", why));
  // A power cut may take the new name back, and some records are copied again; it never leaves an
  // empty file under that name, after which all of them would be.
  if (::fdatasync(file.get()) != 0)
    return fail(audit_error("cannot write how far the log was copied", errno));
  if (::renameat(places_.get(), made.c_str(), places_.get(), name_.c_str()) != 0)
    return fail(audit_error("cannot write how far the log was copied", errno));
  return {};
}

std::optional<audit::Link> Spool::last() const {
  if (position_.day.empty()) return std::nullopt;
  const auto file =
      audit::open_private_file(log_.get(), audit::file_of_day(position_.day), O_RDONLY);
  if (!file) return std::nullopt;
  audit::LineReader reader(file->get(), position_.line_start, position_.offset);
  audit::Line line;
  const auto more = reader.next(line);
  if (!more || !*more || !line.complete) return std::nullopt;
  const auto record = audit::decode_line(line.text);
  if (!record || !record->intact || record->seq != position_.seq) return std::nullopt;
  return audit::Link{record->seq, record->digest};
}

Result<audit::Key> signing_key(const audit::Place& place) {
  CORDON_TRY(directory, audit::open_private_directory(place.directory, audit::IfAbsent::Make));
  if (::flock(directory.get(), LOCK_EX) != 0)
    return fail(audit_error("cannot lock the audit directory", errno));
  return audit::load_key(directory.get(), audit::kSigningKey, audit::IfMissing::Make);
}

}  // namespace cordon::ship
