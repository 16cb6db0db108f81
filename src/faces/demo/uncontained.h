// A command without any boundary: what an attempt of the demonstration does where nothing holds it.
// Only the demonstration's own attempts are run so, on what it has planted itself.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "run/line.h"

namespace cordon::demo {

// A new, empty file in a directory of everybody, removed in the end. A command without a boundary
// that wrote there without it would follow a link that another user had put in its place.
class FileForAll {
 public:
  explicit FileForAll(std::string path);
  ~FileForAll();
  FileForAll(const FileForAll&) = delete;
  FileForAll& operator=(const FileForAll&) = delete;

  [[nodiscard]] bool made() const { return file_.valid(); }

 private:
  std::string path_;
  Fd file_;
};

class Uncontained {
 public:
  // The command with nothing but this environment, in a process group of its own. It dies with the
  // thread that started it; its process group is killed when this goes.
  Uncontained(const std::vector<std::string>& argv,
              const std::map<std::string, std::string>& environment);
  ~Uncontained();
  Uncontained(const Uncontained&) = delete;
  Uncontained& operator=(const Uncontained&) = delete;

  // Waits until it has ended, is killed at `limit_ms`, or `interrupted` names a signal. Looked at
  // whenever `signals` is readable. To be called once.
  Report wait(std::uint64_t limit_ms, int signals,
              const std::function<std::optional<int>()>& interrupted);
  // Its number, until it has been waited for; negative if it could not be started.
  [[nodiscard]] pid_t process() const { return process_; }

 private:
  void end();

  pid_t process_ = -1;
  int error_ = 0;  // why it could not be started
  Fd out_;
  Fd err_;
};

}  // namespace cordon::demo
