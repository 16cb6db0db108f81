// Opening what a run left in a stage: it may have taken every right away from what it made. Nothing
// is followed.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace cordon {

// A directory, to list it or go below it. One that was closed to its owner is open as long as this
// lives, since every look below needs the right to search it, and closed again afterwards.
class KeptDirectory {
 public:
  KeptDirectory() = default;
  static KeptDirectory open(int directory, const std::string& name);
  // What lies at `path` below `directory`, through directories that may be closed; "" is that
  // itself.
  static KeptDirectory open_below(int directory, std::string_view path);
  KeptDirectory(KeptDirectory&& other) noexcept = default;
  KeptDirectory& operator=(KeptDirectory&& other) noexcept;
  ~KeptDirectory() { close_again(); }
  KeptDirectory(const KeptDirectory&) = delete;
  KeptDirectory& operator=(const KeptDirectory&) = delete;

  [[nodiscard]] bool valid() const { return directory_.valid(); }
  [[nodiscard]] int get() const { return directory_.get(); }

 private:
  void close_again();

  Fd directory_;
  std::optional<mode_t> closed_;  // the mode that it had
};

// A regular file, to read it. Its mode is as before when the call returns.
Fd open_kept_file(int directory, const std::string& name);

}  // namespace cordon
