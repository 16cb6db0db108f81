#include "faces/cli/diff_page.h"

#include "base/text.h"

namespace cordon {
namespace {

constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<style>
:root { color-scheme: light dark; --good: #1a7f37; --bad: #b42318; --quiet: #6b7280; --line: #8884; }
@media (prefers-color-scheme: dark) { :root { --good: #4ac26b; --bad: #ff7b72; --quiet: #9aa4b2; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
td.path, pre, summary { font-family: ui-monospace, monospace; font-size: 13px; overflow-wrap: anywhere; }
summary { cursor: pointer; padding: .5rem 0; }
details { border: 1px solid var(--line); border-radius: 6px; margin: 1rem 0; padding: 0 .8rem; }
pre { overflow-x: auto; margin: 0 0 .8rem; }
ins { color: var(--good); text-decoration: none; }
del { color: var(--bad); text-decoration: none; }
i { color: var(--quiet); font-style: normal; }
</style>
)";

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string_view mark_of(std::string_view line) {
  if (line.starts_with("@@") || line.starts_with("+++ ") || line.starts_with("--- ")) return "i";
  if (line.starts_with('+')) return "ins";
  if (line.starts_with('-')) return "del";
  return {};
}

}  // namespace

DiffPage::DiffPage(std::string_view run) : run_(escaped(sanitize(run))) {}

void DiffPage::add(const Row& row) {
  const auto cell = [](std::string_view text, std::string_view attribute = {}) {
    return "<td" + std::string(attribute) + ">" + escaped(sanitize(text)) + "</td>";
  };
  rows_ += "<tr>" + cell(row.path, " class=\"path\"") + cell(row.change) + cell(row.state) +
           cell(row.size) + cell(row.reason) + "</tr>\n";
}

void DiffPage::add_difference(std::string_view path, std::string_view diff) {
  differences_ += "<details open><summary>" + escaped(sanitize(path)) + "</summary><pre>";
  for (std::string_view rest = diff; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    const std::string_view mark = mark_of(line);
    const std::string text = escaped(line);
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
  return std::string(kHead) + "<title>Changes of run " + run_ + "</title>\n</head>\n<body>\n" +
         "<h1>Changes of run " + run_ + "</h1>\n<table>\n<thead><tr><th>Path</th><th>Change</th>" +
         "<th>State</th><th>Size</th><th>Reason</th></tr></thead>\n<tbody>\n" + rows_ +
         "</tbody>\n</table>\n" + differences_ + "</body>\n</html>\n";
}

}  // namespace cordon
