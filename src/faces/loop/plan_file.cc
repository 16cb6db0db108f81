#include "faces/loop/plan_file.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "config/section.h"

namespace cordon::loop {
namespace {

constexpr std::string_view kFeatureHint =
    "write a line such as \"- [ ] parse-flags: Parse the flags\"; cordon loop --example prints a "
    "plan";

constexpr std::array<std::string_view, 2> kPlanKeys{"version", "features"};
constexpr std::array<std::string_view, 8> kPlannedKeys{
    "id", "title", "prompt", "prompt_file", "verify", "attempts", "timeout", "done"};

Result<void> take(const Section& section, std::string_view key, std::string& into) {
  CORDON_TRY(found, section.text(key));
  if (found) into = *found->text;
  return {};
}

Result<Feature> read_feature(const Node& node, const std::string& name) {
  CORDON_TRY(section, Section::open(node, name, "features", kPlannedKeys));
  Feature feature;
  CORDON_CHECK(take(section, "id", feature.id));
  CORDON_CHECK(take(section, "title", feature.title));
  CORDON_CHECK(take(section, "prompt", feature.prompt));
  CORDON_CHECK(take(section, "prompt_file", feature.prompt_file));
  CORDON_CHECK(take(section, "verify", feature.verify));
  if (section.find("prompt") != nullptr && section.find("prompt_file") != nullptr) {
    return fail(section.error_at(node, "prompt contradicts prompt_file", "drop one of them"));
  }
  CORDON_TRY(attempts, section.count("attempts"));
  CORDON_TRY(wall, section.duration("timeout"));
  CORDON_TRY(done, section.flag("done"));
  feature.attempts = attempts;
  feature.wall_ms = wall;
  feature.checked = done.value_or(false);
  return feature;
}

}  // namespace

Result<Features> read_json_plan(std::string_view text, const std::string& name) {
  CORDON_TRY(document, read_json(text, name));
  CORDON_TRY(plan, Section::open(document, name, "", kPlanKeys));
  CORDON_TRY(version, plan.count("version"));
  if (!version) return fail(plan.error_at(document, "missing key \"version\"", "add version = 1"));
  if (*version != 1) {
    return fail(plan.error_at(*plan.find("version"), "the version of a plan is 1"));
  }
  Features features;
  const Node* list = plan.find("features");
  if (list == nullptr) return features;
  if (list->list() == nullptr) {
    return fail(
        plan.error_at(*list, "\"features\" is not a list but " + std::string(kind_name(*list))));
  }
  for (const Node& node : *list->list()) {
    CORDON_TRY(feature, read_feature(node, name));
    features.push_back(std::move(feature));
  }
  return features;
}

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
      return fail(error("the line is not a feature", std::string(kFeatureHint)));
    }
    const std::string_view rest = trimmed(line.substr(kAfter));
    const std::size_t colon = rest.find(':');
    if (colon == std::string_view::npos) {
      return fail(error("the feature has no id", std::string(kFeatureHint)));
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

namespace {

constexpr std::size_t kLongestId = 64;
constexpr std::size_t kMostFeatures = 1000;
constexpr std::uint64_t kMostAttempts = 100;

bool is_id(std::string_view id) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !id.empty() && id.size() <= kLongestId && plain(id.front()) &&
         std::ranges::all_of(id,
                             [&](char c) { return plain(c) || c == '-' || c == '_' || c == '.'; });
}

Error plan_fault(const std::string& name, std::string what, std::string hint = {}) {
  Error error = policy_error(std::move(what), std::move(hint));
  error.place = Place{name, 0, 0};
  return error;
}

}  // namespace

Result<void> check_plan(const Features& features, const std::string& name) {
  if (features.empty())
    return fail(plan_fault(name, "the plan has no feature", std::string(kFeatureHint)));
  if (features.size() > kMostFeatures)
    return fail(plan_fault(name, "the plan has too many features"));
  std::set<std::string_view> ids;
  for (const Feature& feature : features) {
    if (!is_id(feature.id)) {
      return fail(plan_fault(name, "the id " + quote(feature.id) + " is not a plain word",
                             "letters, digits, '-', '_' and '.', at most 64"));
    }
    if (!ids.insert(feature.id).second) {
      return fail(plan_fault(name, "the id " + quote(feature.id) + " stands twice"));
    }
    if (feature.title.empty()) {
      return fail(plan_fault(name, "the feature " + quote(feature.id) + " has no title"));
    }
    if (feature.verify.empty()) {
      return fail(plan_fault(name, "the feature " + quote(feature.id) + " has no verify command",
                             "add verify: COMMAND; only that decides whether the work is done"));
    }
    if (feature.attempts && (*feature.attempts == 0 || *feature.attempts > kMostAttempts)) {
      return fail(
          plan_fault(name, "the attempts of " + quote(feature.id) + " are not from 1 to 100"));
    }
    for (const std::string* text : {&feature.verify, &feature.prompt, &feature.prompt_file}) {
      if (text->find('\0') != std::string::npos) {
        return fail(
            plan_fault(name, "the feature " + quote(feature.id) + " holds a NUL character"));
      }
    }
  }
  return {};
}

Result<Features> read_plan(std::string_view text, const std::string& name) {
  auto features =
      name.ends_with(".json") ? read_json_plan(text, name)
      : name.ends_with(".md")
          ? read_markdown_plan(text, name)
          : fail(plan_fault(name, "the form of the plan is not known", "name it .md or .json"));
  if (!features) return features;
  CORDON_CHECK(check_plan(*features, name));
  return features;
}

}  // namespace cordon::loop
