// The changes of a run as one page for a browser: the list, then each difference. It loads nothing
// and runs nothing; every text of the run is escaped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "faces/cli/html_page.h"

namespace cordon {

class DiffPage {
 public:
  explicit DiffPage(std::string_view run) : run_(run) {}
  struct Row {
    std::string path;
    std::string change;
    std::string state;
    std::string size;
    std::string reason;
  };
  void add(const Row& row);
  // In the unified form (changes/line_diff.h).
  void add_difference(std::string_view path, std::string_view diff);
  [[nodiscard]] std::string text() const;

 private:
  std::string run_;
  std::vector<std::vector<HtmlPage::Markup>> rows_;
  std::string differences_;
};

}  // namespace cordon
