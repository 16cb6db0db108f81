#include "faces/mcp/full/model_text.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/text.h"

namespace cordon::mcp {
namespace {

constexpr std::array<std::string_view, 8> kPayload{"stdout",  "stderr",  "content", "entries",
                                                   "matches", "changes", "patch",   "diff"};
// Not in the text: for programs, or said once for all in the instructions.
constexpr std::array<std::string_view, 3> kForPrograms{"enforcement", "policy_hash", "untrusted"};
// Not in the text if they say no.
constexpr std::array<std::string_view, 5> kQuiet{"timed_out", "truncated", "more", "denials",
                                                 "diff_truncated"};

bool is_one_of(std::string_view name, const auto& names) {
  return std::ranges::find(names, name) != names.end();
}

bool says_no(const Node& value) {
  if (const auto* flag = std::get_if<bool>(&value.value)) return !*flag;
  if (const NodeList* list = value.list()) return list->empty();
  if (const NodeMap* map = value.map()) {
    return std::ranges::all_of(*map, [](const auto& member) { return says_no(member.second); });
  }
  return std::holds_alternative<std::nullptr_t>(value.value);
}

class ModelText {
 public:
  ModelText(const NodeMap& told, bool is_error) {
    for (const auto& [name, value] : told) {
      const std::string* text = value.text();
      if (text != nullptr && is_one_of(name, kPayload) && put(name, *text)) continue;
      kept_.set(name, value);
      if (is_one_of(name, kForPrograms) || (is_one_of(name, kQuiet) && says_no(value))) continue;
      if (text != nullptr && text->empty() && is_one_of(name, kPayload)) continue;
      if (name == "success" && !says_no(value)) continue;
      // By it explain_denial finds what was refused; a run has an id of its own.
      if (name == "audit_id" && !is_error) continue;
      line_.set(name, value);
    }
  }

  [[nodiscard]] ToolResult result(bool is_error) && {
    ToolResult result = ToolResult::text(text_ + write_json(line_, JsonStyle::Compact));
    result.is_error = is_error;
    kept_.set("payload", std::move(places_));
    Node meta{NodeMap{}};
    meta.set("cordon/result", std::move(kept_));
    result.meta = std::move(meta);
    return result;
  }

 private:
  // False: it stays a member.
  bool put(const std::string& name, const std::string& text) {
    if (text.empty() || sanitize_lines(text) != text) return false;
    if (name == "stderr") text_ += "stderr:\n";
    NodeList place;
    place.emplace_back(text_.size());
    place.emplace_back(text.size());
    places_.set(name, std::move(place));
    text_ += text;
    if (!text.ends_with('\n')) {
      text_ += '\n';
      // To whoever edits a file it matters.
      if (name == "content") line_.set("ends_without_newline", true);
    }
    return true;
  }

  std::string text_;
  Node line_{NodeMap{}};
  Node kept_{NodeMap{}};
  Node places_{NodeMap{}};
};

}  // namespace

ToolResult for_a_model(const NodeMap& told, bool is_error) {
  return ModelText(told, is_error).result(is_error);
}

}  // namespace cordon::mcp
