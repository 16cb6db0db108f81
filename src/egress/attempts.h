// Attempts: what a sandbox tried to reach, for the report. Equal attempts are counted together, and
// their number is bounded: a program cannot fill this memory by trying.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cordon/outcome.h"

namespace cordon {

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
  // The refused ones, and the unknown names.
  [[nodiscard]] std::vector<Denial> denials() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Connection> connections_;
  std::set<std::size_t> bytes_lost_;
  std::map<std::string, std::uint64_t> unknown_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> refused_;
  std::uint64_t unlisted_ = 0;
};

}  // namespace cordon
