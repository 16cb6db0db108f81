#include "loop/plan_file.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "loop/plan_forms.h"

namespace cordon::loop {
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
  if (features.empty()) return fail(plan_fault(name, "the plan has no feature", "- [ ] id: title"));
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
