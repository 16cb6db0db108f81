// ProjectNames: which directory a label of the log stands for, so that its owner can read a list of
// actions. They lie in the state directory beside the log and are no part of it: a log may be
// handed to others, these stay.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace cordon::audit {

class ProjectNames {
 public:
  // Empty if nothing was remembered or it cannot be read.
  static ProjectNames read(const std::string& state_directory);

  // Printable; nothing for a label that was never remembered.
  [[nodiscard]] std::optional<std::string> directory_of(const std::string& label) const;

 private:
  std::map<std::string, std::string> directories_;
};

// Remembers once which directory a label stands for. Nothing depends on it: where it cannot be
// written, a list shows the label.
void remember_project(const std::string& state_directory, const std::string& label,
                      const std::string& directory);

}  // namespace cordon::audit
