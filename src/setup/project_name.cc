#include "setup/project_name.h"

#include <algorithm>

#include "base/path.h"
#include "base/text.h"
#include "policy/presets.h"

namespace cordon::setup {
namespace {

constexpr std::size_t kLongest = 64;

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool may_stand(char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; }

bool is_spelled_well(std::string_view name) {
  return !name.empty() && name.size() <= kLongest && is_alphanumeric(name.front()) &&
         std::ranges::all_of(name, may_stand);
}

bool is_taken_for_a_file(std::string_view name) {
  return name.ends_with(".toml") || name.ends_with(".json");
}

}  // namespace

Result<void> check_project_name(std::string_view name) {
  if (!is_spelled_well(name)) {
    return fail(usage_error("not a name for a policy: " + quote(name),
                            "use letters, digits, '.', '_' and '-', at most 64"));
  }
  if (is_preset(name)) {
    return fail(usage_error(quote(name) + " is a preset, and presets cannot be replaced",
                            "choose another --name"));
  }
  if (is_taken_for_a_file(name)) {
    return fail(usage_error("the name " + quote(name) + " would be taken for a file",
                            "leave .toml or .json out"));
  }
  return {};
}

std::string project_name_of(std::string_view directory) {
  std::string name;
  for (const char c : basename(directory)) {
    const bool first = name.empty();
    if (first ? is_alphanumeric(c) : may_stand(c)) {
      name += c;
    } else if (!first && name.back() != '-') {
      name += '-';
    }
  }
  constexpr std::string_view kSuffix = "-project";
  name.resize(std::min(name.size(), kLongest - kSuffix.size()));
  while (!name.empty() && !is_alphanumeric(name.back())) name.pop_back();
  if (name.empty()) return "project";
  if (is_preset(name) || is_taken_for_a_file(name)) name += kSuffix;
  return name;
}

}  // namespace cordon::setup
