// Notices: the closing lines of a run. A person at a terminal sees one line of each kind: the first
// of it as it is, since that has the cure, then how many more there are and the command that lists
// them. Whoever reads a pipe gets each line.
#pragma once

#include <string>
#include <vector>

namespace cordon {

class Notices {
 public:
  enum class Layout { Each, Folded };
  // Folded if what is said now goes to a terminal.
  static Layout usual();

  Notices(Layout layout, std::string run_id) : layout_(layout), run_id_(std::move(run_id)) {}
  Notices(const Notices&) = delete;
  Notices& operator=(const Notices&) = delete;
  // Says what is folded.
  ~Notices();

  // Where all of a kind are listed.
  enum class Seen { Why, Changes };
  void add(const std::string& kind, const std::string& line, Seen seen);

  [[nodiscard]] Layout layout() const { return layout_; }
  [[nodiscard]] const std::string& run_id() const { return run_id_; }

 private:
  struct Kind {
    std::string name;
    std::string first;
    std::size_t more = 0;
    Seen seen = Seen::Why;
  };

  const Layout layout_;
  const std::string run_id_;
  std::vector<Kind> kinds_;  // in the order of their first lines
};

}  // namespace cordon
