#include "audit/chain.h"

#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "audit/checkpoint.h"
#include "audit/files.h"
#include "base/text.h"

namespace cordon::audit {
namespace {

constexpr const char* kAsideHint =
    "cordon audit verify names the place; move the audit directory aside to begin a new log";

FileId id_of(const struct stat& status) { return {status.st_dev, status.st_ino}; }

// Released by name, not by closing: a child that was cloned meanwhile holds the same description.
class DirectoryLock {
 public:
  explicit DirectoryLock(int directory) : directory_(directory) {
    int done = -1;
    do {
      done = ::flock(directory_, LOCK_EX);
    } while (done != 0 && errno == EINTR);
    held_ = done == 0;
  }
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  ~DirectoryLock() {
    if (held_) ::flock(directory_, LOCK_UN);
  }
  [[nodiscard]] bool held() const { return held_; }
  void keep() { held_ = false; }

 private:
  int directory_;
  bool held_ = false;
};

// Makes what a new log needs, all of it durable before the first record. A log that has lost a
// part is not mended here: that would hide the loss.
Result<void> make_new(int directory, const Key& key, const Writer& writer) {
  CORDON_TRY(days, list_days(directory));
  if (!days.empty()) {
    return fail(audit_error("audit/head is missing", ENOENT, kAsideHint));
  }
  CORDON_TRY(head, open_private_file(directory, "head.new", O_RDWR | O_CREAT | O_TRUNC));
  Head first;
  first.boot_id = writer.boot_id;
  first.keyed_from = 1;
  const std::string bytes = encode_head(first, key);
  if (::pwrite(head.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()) ||
      ::fsync(head.get()) != 0 || ::renameat(directory, "head.new", directory, "head") != 0 ||
      ::fsync(directory) != 0) {
    return fail(audit_error("cannot make audit/head", errno));
  }
  return {};
}

Result<Fd> open_head(int directory, const Key& key, const Writer& writer) {
  auto head = open_private_file(directory, "head", O_RDWR);
  if (head || head.error().error_number != ENOENT) return head;
  CORDON_CHECK(make_new(directory, key, writer));
  return open_private_file(directory, "head", O_RDWR);
}

}  // namespace

Result<Writer> identify_writer() {
  constexpr std::size_t kBootIdLength = 36;
  Writer writer;
  const Fd file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  std::array<char, kBootIdLength> text{};
  if (!file.valid() ||
      ::read(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return fail(audit_error("cannot read the boot id", errno, "/proc must be mounted"));
  }
  writer.boot_id.assign(text.data(), text.size());
  struct stat status {};
  if (::stat("/proc/self/ns/pid", &status) == 0) writer.pid_namespace = status.st_ino;
  writer.pid = static_cast<std::uint64_t>(::getpid());
  return writer;
}

Chain::Chain(std::string path, Fd directory, Key key, Fd head, Fd table, Writer writer, Clock clock)
    : path_(std::move(path)),
      directory_(std::move(directory)),
      key_(key),
      head_file_(std::move(head)),
      table_(std::move(table)),
      writer_(std::move(writer)),
      clock_(clock) {}

Result<Chain> Chain::open(const std::string& directory, Writer writer, Clock clock) {
  CORDON_TRY(fd, open_private_directory(directory, IfAbsent::Make));
  auto key = load_key(fd.get(), "key", IfMissing::Refuse);
  auto head = key ? open_private_file(fd.get(), "head", O_RDWR) : fail(key.error());
  if (!head) {
    // Only the first start finds something missing; who else is starting waits here.
    const DirectoryLock first(fd.get());
    if (!first.held()) return fail(audit_error("cannot lock the audit directory", errno));
    CORDON_TRY(days, list_days(fd.get()));
    key = load_key(fd.get(), "key", days.empty() ? IfMissing::Make : IfMissing::Refuse);
    if (!key) return fail(std::move(key).error());
    head = open_head(fd.get(), *key, writer);
    if (!head) return fail(std::move(head).error());
  }
  CORDON_TRY(table, open_private_file(fd.get(), "open", O_RDWR | O_CREAT));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) {
    return fail(audit_error("cannot examine the audit directory", errno));
  }
  Chain chain(directory, std::move(fd), *key, std::move(*head), std::move(table), std::move(writer),
              clock);
  chain.id_ = id_of(status);
  return chain;
}

// A directory that was moved away or removed keeps taking records that nobody will find again.
Result<void> Chain::check_directory() const {
  struct stat here {};
  struct stat head {};
  if (::lstat(path_.c_str(), &here) != 0 || id_of(here) != id_) {
    return fail(audit_error("the audit directory " + quote(path_) + " was replaced", 0,
                            "start again to use the new one"));
  }
  if (::fstat(head_file_.get(), &head) != 0 || head.st_nlink == 0) {
    return fail(audit_error("audit/head was replaced", 0, kAsideHint));
  }
  return {};
}

Result<void> Chain::read_head() {
  std::string bytes(kHeadSize, '\0');
  const ssize_t got = ::pread(head_file_.get(), bytes.data(), bytes.size(), 0);
  if (got < 0) return fail(audit_error("cannot read audit/head", errno));
  bytes.resize(static_cast<std::size_t>(got));
  if (bytes == head_bytes_) return {};
  CORDON_TRY(head, decode_head(bytes, key_));
  head_ = std::move(head);
  head_bytes_ = std::move(bytes);
  return {};
}

Result<void> Chain::write_head(const Head& head) {
  std::string bytes = encode_head(head, key_);
  const ssize_t put = ::pwrite(head_file_.get(), bytes.data(), bytes.size(), 0);
  if (put != static_cast<ssize_t>(bytes.size())) {
    const int why = put < 0 ? errno : EIO;
    head_bytes_.clear();
    return fail(audit_error("cannot write audit/head", why));
  }
  head_ = head;
  head_bytes_ = std::move(bytes);
  return {};
}

Result<void> Chain::open_day(const std::string& day) {
  if (day_file_.valid() && day_ == day) return {};
  CORDON_TRY(file, open_private_file(directory_.get(), file_of_day(day), O_RDWR | O_APPEND));
  day_file_ = std::move(file);
  day_ = day;
  return {};
}

// The head names the new file before a record is in it, so that a writer that dies in between
// leaves nothing that the next one would not find.
Result<void> Chain::start_day(const std::string& day) {
  CORDON_TRY(file,
             open_private_file(directory_.get(), file_of_day(day), O_RDWR | O_APPEND | O_CREAT));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fail(audit_error("cannot open a day", errno));
  if (status.st_size != 0) {
    return fail(audit_error("audit/" + file_of_day(day) + " is not of this log", 0, kAsideHint));
  }
  if (::fsync(directory_.get()) != 0) {
    return fail(audit_error("cannot write the audit directory", errno));
  }
  // What the file of the day before holds must not be lost after this one is synced.
  if (day_file_.valid() && ::fdatasync(day_file_.get()) != 0) {
    return fail(audit_error("cannot write the audit log", errno));
  }
  day_file_ = std::move(file);
  day_ = day;
  Head head = head_;
  head.day = day;
  head.size = 0;
  if (head.open_day.empty()) head.open_day = day;
  // What is signed on the second day is not due on the first: a first run waits for no key.
  if (head.signed_day.empty()) head.signed_day = day;
  return write_head(head);
}

Result<std::uint64_t> Chain::day_size() const {
  struct stat status {};
  if (::fstat(day_file_.get(), &status) != 0) {
    return fail(audit_error("cannot examine audit/" + file_of_day(day_), errno));
  }
  if (status.st_nlink == 0) {
    return fail(audit_error("audit/" + file_of_day(day_) + " was removed", 0, kAsideHint));
  }
  return static_cast<std::uint64_t>(status.st_size);
}

Result<Body> Chain::note(std::string_view action, Node metadata) const {
  Body body;
  body.wall_us = clock_.wall_us();
  body.boot_ms = clock_.boot_ms();
  CORDON_TRY(id, new_event_id(body.wall_us));
  body.event_id = std::move(id);
  body.members = note_members(action, std::move(metadata));
  return body;
}

// After a failed append the bytes go, whatever part of them was written.
void Chain::undo(std::uint64_t size) {
  if (::ftruncate(day_file_.get(), static_cast<off_t>(size)) != 0) day_file_.reset();
}

void Chain::place_oldest(Head& head) const {
  const OpenEntry* oldest = table_.oldest();
  head.open_day = oldest != nullptr ? oldest->day : head.day;
  head.open_offset = oldest != nullptr ? oldest->offset : head.size;
}

namespace {

// Why a file took only a part: what is next to fail is not told. `ulimit -f`, or a disk that is
// full.
int reason_of_short_write(int file) {
  rlimit limit{};
  struct stat status {};
  const bool met = ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && ::fstat(file, &status) == 0 &&
                   static_cast<rlim_t>(status.st_size) >= limit.rlim_cur;
  return met ? EFBIG : ENOSPC;
}

}  // namespace

Result<Landed> Chain::write_record(const Body& body, Durability durability, Head& after) {
  const std::uint64_t before = head_.size;
  const Composed composed = compose(body, head_.last, head_.last.seq + 1, writer_.boot_id, key_);
  if (composed.line.size() > kLongestLine) return fail(audit_error("the record is too long", 0));
  const ssize_t put = ::write(day_file_.get(), composed.line.data(), composed.line.size());
  if (put != static_cast<ssize_t>(composed.line.size())) {
    const int why = put < 0 ? errno : reason_of_short_write(day_file_.get());
    undo(before);
    return fail(
        audit_error("cannot write the audit log", why, why == ENOSPC ? "free some space" : ""));
  }
  if (durability == Durability::Synced && ::fdatasync(day_file_.get()) != 0) {
    const int why = errno;
    undo(before);
    return fail(audit_error("the audit log cannot be made durable", why));
  }
  after = head_;
  after.last = {head_.last.seq + 1, composed.hash};
  after.size = before + composed.line.size();
  if (after.keyed_from == 0) after.keyed_from = after.last.seq;
  if (durability == Durability::Synced) after.synced = after.last.seq;
  return Landed{after.last.seq, day_, before};
}

Result<void> Chain::finish(Head after) {
  // A closing record that a power cut may take has closed nothing yet: the search after it must
  // still find the pending one.
  if (after.synced == after.last.seq) place_oldest(after);
  const std::uint64_t before = head_.size;
  auto written = write_head(after);
  if (!written) undo(before);
  return written;
}

Chain::Locked::Locked(Chain& chain, std::unique_lock<std::mutex> threads)
    : chain_(&chain), threads_(std::move(threads)) {}

Chain::Locked::Locked(Locked&& other) noexcept
    : chain_(std::exchange(other.chain_, nullptr)), threads_(std::move(other.threads_)) {}

Chain::Locked::~Locked() {
  if (chain_ != nullptr) ::flock(chain_->directory_.get(), LOCK_UN);
}

Result<Chain::Locked> Chain::lock(std::int64_t now_us) {
  std::unique_lock<std::mutex> threads(*mutex_);
  DirectoryLock lock(directory_.get());
  if (!lock.held()) return fail(audit_error("cannot lock the audit directory", errno));
  now_us_ = std::max(now_us, clock_.wall_us());
  CORDON_CHECK(check_directory());
  CORDON_CHECK(read_head());
  CORDON_CHECK(table_.read());
  CORDON_CHECK(settle());
  lock.keep();
  return Locked(*this, std::move(threads));
}

Result<Landed> Chain::Locked::append(const Body& body, Durability durability) {
  Head after;
  CORDON_TRY(landed, chain_->write_record(body, durability, after));
  CORDON_CHECK(chain_->finish(std::move(after)));
  return landed;
}

Result<Landed> Chain::Locked::append_pending(const Body& body, std::size_t& slot) {
  Head after;
  const std::uint64_t before = chain_->head_.size;
  CORDON_TRY(landed, chain_->write_record(body, Durability::Synced, after));
  slot = table().free_slot();
  const Writer& writer = chain_->writer_;
  const auto noted = table().put(slot, {landed.seq, body.event_id, landed.day, landed.offset,
                                        writer.pid, writer.pid_namespace, body.boot_ms});
  if (!noted) {
    chain_->undo(before);
    return fail(noted.error());
  }
  if (auto done = chain_->finish(std::move(after)); !done) {
    (void)table().clear(slot);
    return fail(std::move(done).error());
  }
  return landed;
}

Result<Landed> Chain::Locked::append_closing(const Body& body, std::size_t slot) {
  Head after;
  const OpenEntry entry = table().slots()[slot];
  const std::uint64_t before = chain_->head_.size;
  CORDON_TRY(landed, chain_->write_record(body, Durability::Later, after));
  if (auto cleared = table().clear(slot); !cleared) {
    chain_->undo(before);
    return fail(std::move(cleared).error());
  }
  if (auto done = chain_->finish(std::move(after)); !done) {
    (void)table().put(slot, entry);
    return fail(std::move(done).error());
  }
  return landed;
}

Result<void> Chain::Locked::sign(std::string_view reason) {
  Head head = chain_->head_;
  // A checkpoint must not name a record that a power cut can still take.
  if (!chain_->day_file_.valid() || ::fdatasync(chain_->day_file_.get()) != 0) {
    return fail(audit_error("the audit log cannot be made durable", errno));
  }
  CORDON_TRY(seed, load_key(chain_->directory(), kSigningKey, IfMissing::Make));
  const Checkpoint checkpoint = make_checkpoint(head.last, head.day, reason, chain_->now_us_, seed);
  CORDON_CHECK(append_checkpoint(chain_->directory(), checkpoint));
  head.signed_seq = head.last.seq;
  head.signed_day = head.day;
  return chain_->write_head(head);
}

Result<void> Chain::Locked::mark_swept(std::uint64_t bounds) {
  Head head = chain_->head_;
  head.swept_day = head.day;
  head.swept_by = bounds;
  return chain_->write_head(head);
}

Result<Record> Chain::Locked::record_at(const std::string& day, std::uint64_t offset) {
  CORDON_TRY(file, open_private_file(chain_->directory(), file_of_day(day), O_RDONLY));
  LineReader reader(file.get(), offset, offset + kLongestLine);
  Line line;
  CORDON_TRY(found, reader.next(line));
  if (!found || !line.complete) return fail(audit_error("there is no record at that place", 0));
  return decode_line(line.text);
}

}  // namespace cordon::audit
