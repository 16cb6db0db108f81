// Chain: the files of the log, and the one way to append to them. Many processes and threads append
// at once; each holds the lock on the directory from reading the head to rewriting it.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "audit/decode_line.h"
#include "audit/head.h"
#include "audit/record.h"
#include "base/fd.h"
#include "policy/effective.h"

namespace cordon::audit {

enum class Durability { Synced, Later };

// Where a record landed.
struct Landed {
  std::uint64_t seq = 0;
  std::string day;
  std::uint64_t offset = 0;
};

class Chain {
 public:
  static Result<Chain> open(const std::string& directory, Writer writer, Clock clock);
  Chain(Chain&&) = default;
  Chain& operator=(Chain&&) = default;

  [[nodiscard]] const Key& key() const { return key_; }
  [[nodiscard]] const Writer& writer() const { return writer_; }
  [[nodiscard]] const Clock& clock() const { return clock_; }
  [[nodiscard]] int directory() const { return directory_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  // As this process last saw it: another one may have gone on.
  [[nodiscard]] const Head& last_seen() const { return head_; }

  // The lock, and with it a log that was found to end where its head says, healed if a writer died
  // or the power failed. What contradicts the head without such a cause is an error, and stays as
  // it is for verify.
  class Locked {
   public:
    Locked(Locked&& other) noexcept;
    Locked& operator=(Locked&&) = delete;
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;
    ~Locked();

    // Appends with one write(2). If it fails the log is as it was before.
    Result<Landed> append(const Body& body, Durability durability);
    Result<Landed> append_pending(const Body& body, std::size_t& slot);
    Result<Landed> append_closing(const Body& body, std::size_t slot);
    [[nodiscard]] OpenTable& table() { return chain_->table_; }
    [[nodiscard]] const Head& head() const { return chain_->head_; }
    // Signs the last record, which is on the disk then, and keeps the checkpoint.
    Result<void> sign(std::string_view reason);
    // The log was looked through today for days that nobody keeps, by these bounds.
    Result<void> mark_swept(std::uint64_t bounds);
    // The record at a place, if one lies there.
    Result<Record> record_at(const std::string& day, std::uint64_t offset);

   private:
    friend class Chain;
    Locked(Chain& chain, std::unique_lock<std::mutex> threads);
    Chain* chain_;
    std::unique_lock<std::mutex> threads_;
  };
  // `now_us` is the time of what is to be appended: its file is not of an earlier day.
  Result<Locked> lock(std::int64_t now_us);
  // The body of a record about the log itself.
  Result<Body> note(std::string_view action, Node metadata) const;

 private:
  Chain(std::string path, Fd directory, Key key, Fd head, Fd table, Writer writer, Clock clock);

  Result<void> check_directory() const;
  Result<void> read_head();
  Result<void> write_head(const Head& head);
  Result<void> settle();
  Result<void> settle_restart();
  Result<void> adopt(const Record& record, std::uint64_t offset, std::uint64_t end);
  Result<void> settle_tail(std::uint64_t size);
  Result<void> open_day(const std::string& day);
  Result<void> start_day(const std::string& day);
  Result<std::uint64_t> day_size() const;
  Result<void> tell_recovery();
  Result<Landed> write_record(const Body& body, Durability durability, Head& after);
  Result<void> finish(Head after);
  void undo(std::uint64_t size);
  void place_oldest(Head& head) const;

  std::string path_;
  Fd directory_;
  FileId id_;
  Key key_{};
  Fd head_file_;
  OpenTable table_;
  Writer writer_;
  Clock clock_{};
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();

  // Valid while locked.
  Head head_;
  std::string head_bytes_;
  std::int64_t now_us_ = 0;
  Fd day_file_;
  std::string day_;  // whose file is open
};

// This process: its host's start, number and namespace.
Result<Writer> identify_writer();

}  // namespace cordon::audit
