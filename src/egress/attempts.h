// Attempts: what a sandbox tried to reach, for the report. Equal attempts are counted together, and
// their number is bounded: a program cannot fill this memory by trying.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cordon/outcome.h"

namespace cordon {

// Thread-safe.
class Attempts {
 public:
  void add(Connection attempt);
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
  std::map<std::string, std::uint64_t> unknown_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> refused_;
  std::uint64_t unlisted_ = 0;
};

}  // namespace cordon
