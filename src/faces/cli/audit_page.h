// The audit log as one page for a browser: how much was done on each day, by what, how it ended and
// how much was denied, and the newest actions one by one. Paths stand in it as in the log.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "audit/index.h"

namespace cordon {

class AuditPage {
 public:
  // In the order of the log.
  void add(const audit::Event& event);
  [[nodiscard]] std::string text(const std::string& host) const;

 private:
  struct Sum {
    std::uint64_t actions = 0;
    std::uint64_t denials = 0;
    std::uint64_t milliseconds = 0;
  };
  using Sums = std::map<std::string, Sum>;
  static void add_to(Sum& sum, const audit::Event& event);
  static void add_sums(class HtmlPage& page, const std::string& caption, const std::string& column,
                       const Sums& sums);

  std::uint64_t actions_ = 0;
  Sums days_;
  Sums tools_;
  Sums outcomes_;
  std::deque<audit::Event> newest_;
};

}  // namespace cordon
