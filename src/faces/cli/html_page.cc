#include "faces/cli/html_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace cordon {
namespace {

constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
)";

constexpr std::string_view kStyle = R"(
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { color-scheme: light dark; --text: #1c2430; --page: #fff; --good: #116329; --bad: #a40e26;
  --quiet: #4b5563; --line: #8886; --whole: #3b76b8; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e9ef; --page: #12161c; --good: #56d364;
  --bad: #ff938a; --quiet: #aab4c2; --whole: #6ea8e6; } }
body { color: var(--text); background: var(--page); font: 15px/1.5 system-ui, sans-serif;
  margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin-bottom: 1rem; }
caption { text-align: left; color: var(--quiet); padding: .3rem 0; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
code, pre, summary, td.path { font-family: ui-monospace, monospace; font-size: 13px; overflow-wrap: anywhere; }
td:first-child { min-width: 6rem; }
summary { cursor: pointer; padding: .5rem 0; }
details { border: 1px solid var(--line); border-radius: 6px; margin: 1rem 0; padding: 0 .8rem; }
pre { overflow-x: auto; margin: 0 0 .8rem; white-space: pre-wrap; }
meter { width: min(12rem, 26vw); }
.good, ins { color: var(--good); text-decoration: none; }
.bad, del { color: var(--bad); text-decoration: none; }
.quiet, i { color: var(--quiet); font-style: normal; }
figure { margin: 0; }
p, caption, figcaption, .long { overflow-wrap: anywhere; }
.columns { display: block; width: 100%; height: 9rem; border-bottom: 1px solid var(--line); }
.columns rect { fill: var(--whole); } .columns .part { fill: var(--bad); }
@media print { body { margin: 0; max-width: none; } .scroll { overflow: visible; }
  thead { display: table-header-group; } tr, figure { break-inside: avoid; }
  meter, .columns { print-color-adjust: exact; } }
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

}  // namespace

HtmlPage::Markup HtmlPage::text_of(std::string_view text) {
  return Markup(escaped(sanitize(text)));
}

HtmlPage::Markup HtmlPage::lines_of(std::string_view text) { return Markup(escaped(text)); }

HtmlPage::Markup HtmlPage::element(std::string_view name, std::string_view text,
                                   std::string_view kind) {
  const std::string attribute = kind.empty() ? "" : " class=\"" + std::string(kind) + "\"";
  return Markup(fmt::format("<{}{}>{}</{}>", name, attribute, text_of(text).text(), name));
}

HtmlPage::Markup HtmlPage::bar(Bar kind, double number, double most, std::string_view words) {
  const std::string said = text_of(words).text();
  const double share = most > 0 ? std::clamp(number / most, 0.0, 1.0) : 0.0;
  return Markup(
      fmt::format("<meter min=\"0\" max=\"1\"{} value=\"{:.3f}\" aria-label=\"{}\">{}</meter> {}",
                  kind == Bar::Limit ? " high=\"0.9\"" : "", share, said, said, said));
}

HtmlPage::Markup HtmlPage::columns(std::string_view words, const std::vector<Column>& columns) {
  constexpr double kHeight = 100;
  double most = 0;
  for (const Column& column : columns) most = std::max(most, column.whole);
  std::string text = fmt::format(
      "<svg class=\"columns\" viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" role=\"img\" "
      "aria-label=\"{}\">\n",
      std::max<std::size_t>(columns.size(), 1) * 10, kHeight, text_of(words).text());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Column& column = columns[i];
    const auto share = [&](double number) {
      // What is there at all can be seen.
      return number <= 0 || most <= 0 ? 0.0 : std::max(number / most * kHeight, 1.0);
    };
    const double whole = share(column.whole);
    const double part = std::min(share(column.part), whole);
    text += fmt::format(
        "<g><title>{}</title><rect x=\"{}\" y=\"{:.1f}\" width=\"8\" height=\"{:.1f}\"/>"
        "<rect class=\"part\" x=\"{}\" y=\"{:.1f}\" width=\"8\" height=\"{:.1f}\"/></g>\n",
        text_of(column.words).text(), i * 10 + 1, kHeight - whole, whole, i * 10 + 1,
        kHeight - part, part);
  }
  return Markup(text + "</svg>\n");
}

void HtmlPage::heading(std::string_view text) { body_ += element("h2", text).text() + "\n"; }

void HtmlPage::paragraph(const Markup& markup) { body_ += "<p>" + markup.text() + "</p>\n"; }

void HtmlPage::table(std::string_view caption, std::span<const std::string_view> columns,
                     const std::vector<std::vector<Markup>>& rows) {
  // A region that scrolls by itself is one that a keyboard can reach.
  body_ += fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table>\n"
      "<caption>{0}</caption>\n<thead><tr>",
      text_of(caption).text());
  for (const std::string_view column : columns) {
    body_ += "<th scope=\"col\">" + text_of(column).text() + "</th>";
  }
  body_ += "</tr></thead>\n<tbody>\n";
  for (const std::vector<Markup>& row : rows) {
    body_ += "<tr>";
    for (const Markup& cell : row) body_ += "<td>" + cell.text() + "</td>";
    body_ += "</tr>\n";
  }
  body_ += "</tbody>\n</table></div>\n";
}

void HtmlPage::folded(std::string_view summary, std::string_view preformatted) {
  body_ += "<details><summary>" + text_of(summary).text() + "</summary><pre tabindex=\"0\">" +
           escaped(preformatted) + "</pre></details>\n";
}

std::string HtmlPage::text() const {
  const std::string title = text_of(title_).text();
  return fmt::format(
      "{}{}{}<title>{}</title>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n{}</main>\n"
      "</body>\n</html>\n",
      kHead, mark_, kStyle, title, title, body_);
}

}  // namespace cordon
