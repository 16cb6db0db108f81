#include "faces/cli/audit_page.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <array>

#include "faces/cli/audit_forms.h"
#include "faces/cli/html_page.h"

namespace cordon {
namespace {

constexpr std::size_t kMostActions = 1000;

// In local time, as `cordon audit list` has it: "2026-11-17 08:30:00".
std::string moment(std::int64_t time_us) {
  const time_t seconds = time_us / 1'000'000;
  struct tm parts {};
  std::array<char, 32> text{};
  if (::localtime_r(&seconds, &parts) == nullptr ||
      ::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts) == 0) {
    return "?";
  }
  return text.data();
}

std::string day(std::int64_t time_us) {
  const std::string whole = moment(time_us);
  return whole.substr(0, whole.find(' '));
}

std::string duration_words(std::uint64_t milliseconds) {
  if (milliseconds < 10'000) return std::to_string(milliseconds) + " ms";
  return std::to_string(milliseconds / 1000) + " s";
}

}  // namespace

void AuditPage::add_to(Sum& sum, const audit::Event& event) {
  ++sum.actions;
  sum.denials += static_cast<std::uint64_t>(std::max<std::int64_t>(event.denials, 0));
  sum.milliseconds +=
      static_cast<std::uint64_t>(std::max<std::int64_t>(event.duration_ms.value_or(0), 0));
}

void AuditPage::add(const audit::Event& event) {
  ++actions_;
  add_to(days_[day(event.begun_us)], event);
  add_to(tools_[what_text(event)], event);
  add_to(outcomes_[outcome_text(event)], event);
  newest_.push_back(event);
  if (newest_.size() > kMostActions) newest_.pop_front();
}

void AuditPage::add_sums(HtmlPage& page, const std::string& caption, const std::string& column,
                         const Sums& sums) {
  std::uint64_t most = 1;
  std::uint64_t most_denied = 1;
  for (const auto& [name, sum] : sums) {
    most = std::max(most, sum.actions);
    most_denied = std::max(most_denied, sum.denials);
  }
  std::vector<std::vector<HtmlPage::Markup>> rows;
  const auto bar = [](std::uint64_t number, std::uint64_t of) {
    return HtmlPage::bar(HtmlPage::Bar::Share, static_cast<double>(number), static_cast<double>(of),
                         std::to_string(number));
  };
  for (const auto& [name, sum] : sums) {
    rows.push_back({HtmlPage::text_of(name), bar(sum.actions, most), bar(sum.denials, most_denied),
                    HtmlPage::text_of(duration_words(sum.milliseconds))});
  }
  page.table(caption, {column, "Actions", "Denials", "Time"}, rows);
}

std::string AuditPage::text(const std::string& host) const {
  HtmlPage page("What was done on " + host);
  if (newest_.empty()) {
    page.paragraph("The log has no such action.");
    return page.text();
  }
  page.paragraph(fmt::format("{} action{} on {} day{}.", actions_, actions_ == 1 ? "" : "s",
                             days_.size(), days_.size() == 1 ? "" : "s"));
  page.heading("Over time");
  add_sums(page, "By day, in local time", "Day", days_);
  page.heading("By what, and how it ended");
  add_sums(page, "By verb or tool", "Verb or tool", tools_);
  add_sums(page, "By outcome", "Outcome", outcomes_);
  page.heading("One by one");
  std::vector<std::vector<HtmlPage::Markup>> rows;
  for (auto event = newest_.rbegin(); event != newest_.rend(); ++event) {
    const bool good = event->outcome == "success";
    rows.push_back(
        {HtmlPage::text_of(moment(event->begun_us)), HtmlPage::text_of(what_text(*event)),
         HtmlPage::element("span", outcome_text(*event), good ? "good" : "bad"),
         HtmlPage::element("span", std::to_string(event->denials), event->denials > 0 ? "bad" : ""),
         HtmlPage::text_of(event->duration_ms
                               ? duration_words(static_cast<std::uint64_t>(*event->duration_ms))
                               : ""),
         HtmlPage::element("code", event->cwd), HtmlPage::element("code", event->event_id)});
  }
  page.table(fmt::format("The newest {} of {}", rows.size(), actions_),
             {"When", "What", "Outcome", "Denials", "Time", "Directory", "Record"}, rows);
  return page.text();
}

}  // namespace cordon
