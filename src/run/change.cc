#include "run/change.h"

#include "base/text.h"
#include "config/policy_document.h"
#include "host/inspect.h"
#include "policy/cure.h"

namespace cordon {
namespace {

constexpr std::size_t kLargestDocument = std::size_t{1} << 20U;

// "FILE:LINE" of a key, or of its table; the file alone if neither is there.
std::string line_in(const std::string& file, std::string_view table,
                    std::initializer_list<std::string_view> keys) {
  const auto text = read_regular(AT_FDCWD, file, kLargestDocument);
  const auto document = text ? read_document(*text, file) : Result<Node>(Node());
  const Node* found = document ? document->find(table) : nullptr;
  if (found == nullptr) return file;
  unsigned line = found->key_line != 0 ? found->key_line : found->line;
  for (const std::string_view key : keys) {
    const Node* member = found->find(key);
    if (member == nullptr) continue;
    line = member->key_line;
    break;
  }
  return line == 0 ? file : file + ":" + std::to_string(line);
}

}  // namespace

std::string steps_text(const std::vector<std::string>& steps) {
  std::string text;
  for (const std::string& step : steps) text.append(text.empty() ? "" : "; ").append(step);
  return text;
}

std::string ceiling_rule(const Ceiling& ceiling, std::string_view table,
                         std::initializer_list<std::string_view> keys) {
  if (ceiling.policy.file.empty()) return title_of(ceiling);
  return "ceiling \"" + line_in(ceiling.policy.file, table, keys) + "\"";
}

std::string take_out(const Policy& policy, std::string_view table, const std::string& text) {
  const std::string what =
      "take " + quote(text) + " out of deny below [" + std::string(table) + "]";
  return policy.file.empty() ? "use a policy of your own without deny " + quote(text)
                             : what + " in " + quote(policy.file);
}

}  // namespace cordon
