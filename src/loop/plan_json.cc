#include <array>

#include "config/section.h"
#include "loop/plan_forms.h"

namespace cordon::loop {
namespace {

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

}  // namespace cordon::loop
