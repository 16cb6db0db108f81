// The changed copies of config.json that containers were started from, one directory for each
// container. A copy stays as long as its container: it is the bundle that the runtime knows, and
// what is started in the container later is held to it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cordon::oci {

// One container of one runtime.
class ContainerPlace {
 public:
  // `state` is the directory of all of them; `root` the runtime's own, as it was given. A container
  // is known by both, as the runtime knows it.
  ContainerPlace(const std::string& state, std::string_view root, std::string_view id);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool exists() const;
  // Makes it, with the changed copy in it. An error if it is there.
  [[nodiscard]] Result<void> make(std::string_view config) const;
  // A file beside the copy under a name of its own; its path.
  [[nodiscard]] Result<std::string> put(std::string_view content) const;
  // The changed copy; nothing if Cordon started no such container.
  [[nodiscard]] std::optional<std::string> config() const;
  void remove() const;

 private:
  std::string state_;
  std::string path_;
};

}  // namespace cordon::oci
