#include "audit/record.h"

#include <time.h>

#include <array>
#include <chrono>
#include <cstdio>

#include "base/text.h"

namespace cordon::audit {
namespace {

constexpr std::array kEndings{Ending::Exit,      Ending::Signal, Ending::Limit,   Ending::Timeout,
                              Ending::Cancelled, Ending::Denied, Ending::Refused, Ending::Crash};

std::string subject(const std::string& action, const std::string& resource) {
  return "audit: " + action + " " + (resource.empty() ? "-" : resource) + " → ";
}

std::string ending_text(const Closing& closing) {
  std::string text(outcome_of(closing.ending));
  if (const auto reason = reason_of(closing.ending)) {
    text.append(" (").append(*reason).append(")");
  }
  return text;
}

}  // namespace

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::Pending:
      return "pending";
    case Phase::Closing:
      return "closing";
    case Phase::Note:
      return "note";
  }
  return "";
}

std::optional<Phase> phase_named(std::string_view name) {
  for (const Phase phase : {Phase::Pending, Phase::Closing, Phase::Note}) {
    if (name == name_of(phase)) return phase;
  }
  return std::nullopt;
}

std::string_view outcome_of(Ending ending) {
  return ending == Ending::Success ? "success" : "failure";
}

std::optional<std::string_view> reason_of(Ending ending) {
  switch (ending) {
    case Ending::Success:
      return std::nullopt;
    case Ending::Exit:
      return "exit";
    case Ending::Signal:
      return "signal";
    case Ending::Limit:
      return "limit";
    case Ending::Timeout:
      return "timeout";
    case Ending::Cancelled:
      return "cancelled";
    case Ending::Denied:
      return "denied";
    case Ending::Refused:
      return "refused";
    case Ending::Crash:
      return "crash";
  }
  return std::nullopt;
}

std::optional<Ending> ending_with_reason(std::string_view reason) {
  for (const Ending ending : kEndings) {
    if (reason == reason_of(ending)) return ending;
  }
  return std::nullopt;
}

std::string line_for_people(const Pending& pending) {
  return subject(pending.action.text(), pending.resource.text()) + "pending";
}

std::string line_for_people(const Pending& pending, const Closing& closing) {
  return subject(pending.action.text(), pending.resource.text()) + ending_text(closing);
}

std::string line_for_people(const Receipt& receipt, const Closing& closing) {
  return subject(receipt.action, receipt.resource) + ending_text(closing);
}

Error audit_error(std::string what, int error_number, std::string hint) {
  Error error = setup_error(std::move(what), error_number, std::move(hint));
  error.kind = ErrorKind::Audit;
  return error;
}

namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::size_t kMomentLength = 27;

std::int64_t now_us() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * kSecond + now.tv_nsec / 1000;
}

std::uint64_t since_boot_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 +
         static_cast<std::uint64_t>(now.tv_nsec) / 1'000'000;
}

// The digits at a fixed place of a fixed form.
std::optional<unsigned> digits(std::string_view text, std::size_t at, std::size_t count) {
  const auto number = parse_number(text.substr(at, count));
  if (!number) return std::nullopt;
  return static_cast<unsigned>(*number);
}

// Years of four digits only: a clock beyond them is wrong, and the form has no room.
std::int64_t within_four_digits(std::int64_t wall_us) {
  constexpr std::int64_t kLast = 253'402'300'799 * kSecond;  // the end of the year 9999
  return wall_us < 0 ? 0 : wall_us > kLast ? kLast : wall_us;
}

}  // namespace

Clock system_clock() { return {now_us, since_boot_ms}; }

std::string day_of(std::int64_t wall_us) {
  const std::chrono::sys_days days{std::chrono::days(within_four_digits(wall_us) / kDayUs)};
  const std::chrono::year_month_day date{days};
  char text[32];
  const int length =
      std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(date.year()),
                    static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return {text, static_cast<std::size_t>(length)};
}

std::string format_moment(std::int64_t wall_us) {
  const std::int64_t in_range = within_four_digits(wall_us);
  const std::int64_t rest = in_range % kDayUs;
  char text[32];
  const int length = std::snprintf(
      text, sizeof text, "T%02d:%02d:%02d.%06dZ", static_cast<int>(rest / (3600 * kSecond)),
      static_cast<int>(rest / (60 * kSecond) % 60), static_cast<int>(rest / kSecond % 60),
      static_cast<int>(rest % kSecond));
  return day_of(in_range).append(text, static_cast<std::size_t>(length));
}

std::optional<std::int64_t> start_of_day(std::string_view day) {
  if (day.size() != kDayLength || day[4] != '-' || day[7] != '-') return std::nullopt;
  const auto year = digits(day, 0, 4);
  const auto month = digits(day, 5, 2);
  const auto date = digits(day, 8, 2);
  if (!year || !month || !date) return std::nullopt;
  const std::chrono::year_month_day read{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(*month), std::chrono::day(*date)};
  if (!read.ok() || *year < 1970) return std::nullopt;
  return std::chrono::sys_days(read).time_since_epoch().count() * kDayUs;
}

std::optional<std::int64_t> parse_moment(std::string_view text) {
  if (text.size() != kMomentLength || text[10] != 'T' || text[13] != ':' || text[16] != ':' ||
      text[19] != '.' || text[26] != 'Z') {
    return std::nullopt;
  }
  const auto day = start_of_day(text.substr(0, kDayLength));
  const auto hour = digits(text, 11, 2);
  const auto minute = digits(text, 14, 2);
  const auto second = digits(text, 17, 2);
  const auto fraction = digits(text, 20, 6);
  if (!day || !hour || !minute || !second || !fraction) return std::nullopt;
  if (*hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  return *day + (std::int64_t{*hour} * 3600 + std::int64_t{*minute} * 60 + *second) * kSecond +
         *fraction;
}

}  // namespace cordon::audit
