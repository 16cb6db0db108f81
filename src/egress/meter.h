// Meter: how many bytes the connections of one sandbox carried. Nothing of them passes through
// Cordon, so the kernel is asked: of each when it ends, of those that go on at every look.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "cordon/outcome.h"
#include "sys/sockets.h"

namespace cordon {

// ConnectionBudget: how many connections one sandbox may still make. Every one that is dialled
// counts, whether or not somebody answers: trying is what tells the world.

// Thread-safe.
class ConnectionBudget {
 public:
  explicit ConnectionBudget(std::optional<std::uint64_t> most) : most_(most) {}

  [[nodiscard]] std::optional<std::uint64_t> most() const { return most_; }
  // False once they are used up.
  bool take() {
    if (!most_) return true;
    std::uint64_t taken = taken_.load();
    while (taken < *most_) {
      if (taken_.compare_exchange_weak(taken, taken + 1)) return true;
    }
    return false;
  }

 private:
  const std::optional<std::uint64_t> most_;
  std::atomic<std::uint64_t> taken_ = 0;
};

// Why a datagram was refused, in an attempt.
inline constexpr std::string_view kOnlyTcp = "only TCP leads outside";

// Attempts: what a sandbox tried to reach, for the report. Equal attempts are counted together, and
// their number is bounded: a program cannot fill this memory by trying.

// "ECONNREFUSED", as an attempt tells it.
std::string error_name(int error);

// Thread-safe.
class Attempts {
 public:
  // Where it is listed, if it is.
  std::optional<std::size_t> add(Connection attempt);
  // What a connection of that entry carried; one that is lost makes the whole sum unknown.
  void add_bytes(std::size_t entry, std::uint64_t sent, std::uint64_t received);
  void lose_bytes(std::size_t entry);
  // A name that does not exist inside was asked for.
  void add_unknown_name(const std::string& name);
  // Something else that was refused: "connect" or "bind", and of what and why.
  void add_refusal(const std::string& what, const std::string& detail);

  [[nodiscard]] std::vector<Connection> connections() const;
  // The refused ones, and the unknown names; these go by `mode_rule`.
  [[nodiscard]] std::vector<Denial> denials(std::string_view mode_rule) const;

 private:
  mutable std::mutex mutex_;
  std::vector<Connection> connections_;
  std::set<std::size_t> bytes_lost_;
  std::map<std::string, std::uint64_t> unknown_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> refused_;
  std::uint64_t unlisted_ = 0;
};

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
