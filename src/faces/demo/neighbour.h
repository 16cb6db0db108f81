// Neighbour: another command of the demonstration, which keeps a note in its /tmp and lives until
// it is dismissed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "faces/demo/demo_runner.h"
#include "faces/demo/uncontained.h"

namespace cordon::demo {

class Neighbour {
 public:
  enum class Boundary { Contained, None };
  static constexpr std::string_view kNote = "PLANTED-NOTE-e2d7";

  Neighbour(DemoRunner& runner, Boundary boundary);
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;
  ~Neighbour();

  // Where it keeps its note, as it sees it.
  [[nodiscard]] const std::string& note() const { return note_; }
  // A process of it, as the host counts them; nothing if it does not come up.
  [[nodiscard]] std::optional<std::string> process() const;
  // Lets it end. Whether it was undisturbed: then the last thing it did was to read its note.
  bool dismiss();

 private:
  DemoRunner& runner_;
  const std::string note_;
  const std::string up_;
  const std::string dismissed_;
  std::optional<FileForAll> file_;
  std::optional<Uncontained> uncontained_;
  Cancel cancel_;
  Report report_;
  std::thread thread_;
};

}  // namespace cordon::demo
