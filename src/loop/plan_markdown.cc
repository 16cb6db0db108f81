#include <array>

#include "base/text.h"
#include "loop/plan_forms.h"

namespace cordon::loop {
namespace {

constexpr std::size_t kLargestPlan = std::size_t{1024} * 1024;

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// Line by line. Headings and text outside of features are for people and mean nothing.
class MarkdownPlan {
 public:
  explicit MarkdownPlan(const std::string& name) : name_(name) {}

  Result<Features> read(std::string_view text) {
    for (const std::string_view line : split(text, '\n')) {
      ++line_;
      CORDON_CHECK(read_line(line));
    }
    for (Feature& feature : features_) {
      while (feature.prompt.ends_with('\n')) feature.prompt.pop_back();
    }
    return std::move(features_);
  }

 private:
  Result<void> read_line(std::string_view line) {
    if (line.starts_with("- [") || line.starts_with("* [")) return begin(line);
    const bool indented = line.starts_with("  ") || line.starts_with('\t');
    const std::string_view content = trimmed(line);
    if (content.empty()) {
      if (inside_ && !features_.back().prompt.empty()) features_.back().prompt.push_back('\n');
      return {};
    }
    if (!indented) {
      inside_ = false;
      return {};
    }
    if (!inside_) return {};
    return add(line, content);
  }

  Result<void> begin(std::string_view line) {
    constexpr std::size_t kMark = 3;
    constexpr std::size_t kAfter = 6;  // "- [x] "
    const bool whole = line.size() > kAfter && line[kMark + 1] == ']' && line[kMark + 2] == ' ';
    const char mark = whole ? line[kMark] : '?';
    if (mark != ' ' && mark != 'x' && mark != 'X') {
      return fail(error("a feature begins with \"- [ ] id: title\""));
    }
    const std::string_view rest = trimmed(line.substr(kAfter));
    const std::size_t colon = rest.find(':');
    if (colon == std::string_view::npos) {
      return fail(error("the feature has no id", "- [ ] id: title"));
    }
    Feature feature;
    feature.id = trimmed(rest.substr(0, colon));
    feature.title = trimmed(rest.substr(colon + 1));
    feature.checked = mark != ' ';
    features_.push_back(std::move(feature));
    seen_ = {};
    inside_ = true;
    return {};
  }

  Result<void> add(std::string_view line, std::string_view content) {
    constexpr std::array<std::string_view, 4> kKeys{"verify", "prompt", "attempts", "timeout"};
    const std::size_t colon = content.find(": ");
    for (std::size_t i = 0; i < kKeys.size() && colon != std::string_view::npos; ++i) {
      if (content.substr(0, colon) != kKeys[i]) continue;
      if (seen_[i]) return fail(error(quote(kKeys[i]) + " stands twice in this feature"));
      seen_[i] = true;
      return set(kKeys[i], trimmed(content.substr(colon + 2)));
    }
    // The indentation that all lines share is not the agent's business; what goes beyond it is.
    const std::string_view text = line.starts_with('\t') ? line.substr(1) : line.substr(2);
    features_.back().prompt.append(text).push_back('\n');
    return {};
  }

  Result<void> set(std::string_view key, std::string_view value) {
    Feature& feature = features_.back();
    if (key == "verify") {
      feature.verify = value;
    } else if (key == "prompt") {
      feature.prompt_file = value;
    } else if (key == "attempts") {
      feature.attempts = parse_number(value);
      if (!feature.attempts) return fail(error("attempts is a number, not " + quote(value)));
    } else {
      feature.wall_ms = parse_duration(value);
      if (!feature.wall_ms)
        return fail(error("timeout is a time such as 20m, not " + quote(value)));
    }
    return {};
  }

  [[nodiscard]] Error error(std::string what, std::string hint = {}) const {
    Error made = policy_error(std::move(what), std::move(hint));
    made.place = Place{name_, line_, 1};
    return made;
  }

  const std::string& name_;
  unsigned line_ = 0;
  bool inside_ = false;
  std::array<bool, 4> seen_{};
  Features features_;
};

}  // namespace

Result<Features> read_markdown_plan(std::string_view text, const std::string& name) {
  const bool readable = text.size() <= kLargestPlan && is_valid_utf8(text) &&
                        text.find('\0') == std::string_view::npos;
  if (!readable) {
    Error error = policy_error("the plan is not UTF-8 text of at most 1 MiB");
    error.place = Place{name, 0, 0};
    return fail(std::move(error));
  }
  return MarkdownPlan(name).read(text);
}

}  // namespace cordon::loop
