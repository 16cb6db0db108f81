// Label: text that may stand in the audit log. Only a Redactor makes one, so that an argument, a
// path, a variable or a piece of content cannot reach the log by oversight: it does not compile.
#pragma once

#include <string>
#include <utility>

namespace cordon::audit {

class Label {
 public:
  Label() = default;  // nothing: written as null
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  auto operator<=>(const Label&) const = default;

 private:
  friend class Redactor;
  explicit Label(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

}  // namespace cordon::audit
