// Meter: how many bytes the connections of one sandbox carried. Nothing of them passes through
// Cordon, so the kernel is asked: of each when it ends, of those that go on at every look.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/fd.h"
#include "base/result.h"
#include "egress/attempts.h"
#include "sys/socket_bytes.h"

namespace cordon {

// Thread-safe.
class Meter {
 public:
  // `most` bytes may be sent. Where the kernel cannot be asked: an error if there is such a bound,
  // else bytes stay unknown.
  static Result<std::unique_ptr<Meter>> make(std::optional<std::uint64_t> most);

  // Before the program can close it. `entry` is its place in the account, if it has one.
  void add(int connected, std::optional<std::size_t> entry);
  // Counts until `stop` is readable.
  void serve(int stop);
  // Readable once more was sent than may be, or it can no longer be told.
  [[nodiscard]] int over_descriptor() const { return over_.get(); }
  // After the last process has ended: what was carried goes into the account.
  void settle(Attempts& attempts);

 private:
  struct Counted {
    sys::SocketName name;
    std::optional<std::size_t> entry;
    sys::SocketBytes bytes;
  };
  Meter(Fd watch, Fd questions, Fd over, std::optional<std::uint64_t> most)
      : watch_(std::move(watch)),
        questions_(std::move(questions)),
        over_(std::move(over)),
        most_(most) {}
  // All with the lock held.
  void take_ends();
  void look_at_living();
  void finish(const Counted& counted);
  void check();
  bool settled();

  const Fd watch_;  // invalid: the kernel cannot be asked
  const Fd questions_;
  const Fd over_;
  const std::optional<std::uint64_t> most_;
  std::mutex mutex_;
  std::map<std::uint64_t, Counted> living_;        // by cookie
  std::map<std::size_t, sys::SocketBytes> ended_;  // by entry
  std::uint64_t sent_by_ended_ = 0;
  bool lost_ = false;  // some ends were not told
};

}  // namespace cordon
