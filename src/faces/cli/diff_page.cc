#include "faces/cli/diff_page.h"

namespace cordon {
namespace {

std::string_view mark_of(std::string_view line) {
  if (line.starts_with("@@") || line.starts_with("+++ ") || line.starts_with("--- ")) return "i";
  if (line.starts_with('+')) return "ins";
  if (line.starts_with('-')) return "del";
  return {};
}

}  // namespace

void DiffPage::add(const Row& row) {
  rows_.push_back({HtmlPage::element("code", row.path), HtmlPage::text_of(row.change),
                   HtmlPage::text_of(row.state), HtmlPage::text_of(row.size),
                   HtmlPage::text_of(row.reason)});
}

void DiffPage::add_difference(std::string_view path, std::string_view diff) {
  differences_ +=
      "<details open>" + HtmlPage::element("summary", path).text() + "<pre tabindex=\"0\">";
  for (std::string_view rest = diff; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    const std::string_view mark = mark_of(line);
    const std::string text = HtmlPage::lines_of(line).text();
    if (mark.empty()) {
      differences_ += text;
    } else {
      const std::string tag(mark);
      differences_ += "<" + tag + ">" + text + "</" + tag + ">";
    }
    differences_ += '\n';
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  differences_ += "</pre></details>\n";
}

std::string DiffPage::text() const {
  HtmlPage page("Changes of run " + run_);
  page.table("What the run changed", {"Path", "Change", "State", "Size", "Reason"}, rows_);
  page.add(HtmlPage::Markup(differences_));
  return page.text();
}

}  // namespace cordon
