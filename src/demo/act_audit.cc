#include <fcntl.h>
#include <unistd.h>

#include "audit/day_files.h"
#include "audit/verify.h"
#include "base/fd.h"
#include "base/path.h"
#include "demo/acts.h"

namespace cordon::demo {
namespace {

// The newest file of the log, and its bytes as they were.
class Record {
 public:
  explicit Record(Stage& stage) : place_(audit::place_of(stage.caller())) {
    const Fd directory(::open(place_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto days = directory.valid()
                          ? audit::list_days(directory.get())
                          : Result<std::vector<std::string>>(std::vector<std::string>());
    if (!days || days->empty()) return;
    path_ = join(place_.directory, audit::file_of_day(days->back()));
    text_ = content_of(path_);
  }
  ~Record() { write(text_); }
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

  [[nodiscard]] const std::string& text() const { return text_; }
  bool write(const std::string& text) const {
    const Fd file(::open(path_.c_str(), O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC));
    return file.valid() &&
           ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }
  [[nodiscard]] Result<audit::Verification> verify() const { return audit::verify(place_, {}); }

 private:
  audit::Place place_;
  std::string path_;
  std::string text_;
};

Scenario told(std::string title, Sight sight) {
  Scenario scenario;
  scenario.title = std::move(title);
  scenario.sight = std::move(sight);
  return scenario;
}

Sight untouched(const Record& record) {
  const auto verified = record.verify();
  if (!verified) return {false, message(verified.error())};
  if (!verified->holds() || verified->records == 0) return {false, "the log does not hold"};
  return {true, std::to_string(verified->records) + " records, each as it was written"};
}

Sight tampered(const Record& record, const std::string& text) {
  if (text == record.text() || !record.write(text)) {
    return {false, "the log could not be tampered with: nothing was shown"};
  }
  const auto verified = record.verify();
  const bool restored = record.write(record.text());
  if (!verified) return {false, message(verified.error())};
  if (verified->holds()) return {false, "the log was tampered with, and nobody noticed"};
  if (!restored || !untouched(record).as_designed) return {false, "the log could not be restored"};
  const audit::Finding& first = verified->findings.front();
  return {true,
          "found: " + std::string(name_of(first.fault)) + " at line " + std::to_string(first.line)};
}

// A digit of the first record becomes another one.
std::string edited(std::string text) {
  const std::size_t digit = text.find_first_of("0123456789");
  if (digit != std::string::npos) text[digit] = text[digit] == '1' ? '2' : '1';
  return text;
}

std::string without_last_line(std::string text) {
  if (text.size() < 2) return text;
  const std::size_t end = text.rfind('\n', text.size() - 2);
  return end == std::string::npos ? text : text.substr(0, end + 1);
}

}  // namespace

Scenarios play_audit_tampering(Stage& stage) {
  // There may have been no act before this one.
  for (int i = 0; i < 2; ++i) (void)stage.run({{"/bin/sh", "-c", ":"}, {}, {}, {}});
  const Record record(stage);
  return {told("verify the log as it is", untouched(record)),
          told("change one digit", tampered(record, edited(record.text()))),
          told("cut off the last record", tampered(record, without_last_line(record.text())))};
}

}  // namespace cordon::demo
