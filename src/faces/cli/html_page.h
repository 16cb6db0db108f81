// HtmlPage: one page for a browser, in one file. It loads nothing and runs nothing, and every text
// that is put into it is escaped: names and output are chosen by whoever was contained.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cordon {

// What says to a program which report this is a page of; found near its beginning.
inline constexpr std::string_view kPageOfReport =
    "<meta name=\"generator\" content=\"cordon.report/1\">";
inline constexpr std::string_view kPageOfFleet =
    "<meta name=\"generator\" content=\"cordon.fleet-report/1\">";

class HtmlPage {
 public:
  // `mark` is markup for the head.
  explicit HtmlPage(std::string_view title, std::string_view mark = {})
      : title_(title), mark_(mark) {}

  // A fragment that is markup already.
  class Markup {
   public:
    explicit Markup(std::string text) : text_(std::move(text)) {}
    [[nodiscard]] const std::string& text() const { return text_; }

   private:
    std::string text_;
  };
  static Markup text_of(std::string_view text);
  // The same of lines that are clean already.
  static Markup lines_of(std::string_view text);
  // A text in an element of the page's own, such as "code"; with a class if one is named.
  static Markup element(std::string_view name, std::string_view text, std::string_view kind = {});
  // How much of `most` it is, with words beside the bar. Of a limit, what comes near it stands out.
  enum class Bar { Share, Limit };
  static Markup bar(Bar kind, double number, double most, std::string_view words);
  // A picture of numbers side by side: of each column the whole, and in another colour a part. What
  // a column is stands in its words, which a pointer shows; a table beside it is for everybody.
  struct Column {
    double whole = 0;
    double part = 0;
    std::string words;
  };
  static Markup columns(std::string_view words, const std::vector<Column>& columns);

  void heading(std::string_view text);
  void paragraph(const Markup& markup);
  void paragraph(std::string_view text) { paragraph(text_of(text)); }
  // Each row has as many cells as there are columns.
  void table(std::string_view caption, std::span<const std::string_view> columns,
             const std::vector<std::vector<Markup>>& rows);
  void table(std::string_view caption, std::initializer_list<std::string_view> columns,
             const std::vector<std::vector<Markup>>& rows) {
    table(caption, std::span(columns.begin(), columns.size()), rows);
  }
  // Folded until somebody opens it.
  void folded(std::string_view summary, std::string_view preformatted);
  void add(const Markup& markup) { body_ += markup.text(); }

  [[nodiscard]] std::string text() const;

 private:
  std::string title_;
  std::string mark_;
  std::string body_;
};

}  // namespace cordon
