#include <array>

#include "config/decode.h"
#include "config/document_text.h"
#include "policy/protected_names.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 2> kProtectKeys{"add", "release"};
constexpr std::size_t kMostNames = 256;

// One component, or two.
bool is_name(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos)
    return is_name(text.substr(0, slash)) && is_name(text.substr(slash + 1)) &&
           text.find('/', slash + 1) == std::string_view::npos;
  return !text.empty() && text != "." && text != ".." && text.size() < 256 &&
         text.find_first_of("*?[\\~@") == std::string_view::npos;
}

Result<std::vector<PlacedText>> names(const Section& section, std::string_view key) {
  CORDON_TRY(words, section.texts(key));
  for (const PlacedText& word : words) {
    if (!is_name(*word.text))
      return fail(section.error_at(*word.node, shown(*word.text) + " is not a name",
                                   "write one name, or \"a/b\" for the name b directly below a"));
  }
  if (words.size() > kMostNames)
    return fail(section.error_at(*words.back().node, "more than 256 names in " + shown(key), ""));
  return words;
}

}  // namespace

Result<void> decode_protect(const Section& document, DocumentRole role, ProtectRules& protect) {
  CORDON_TRY(section, document.member("protect", kProtectKeys));
  const Node* release = section.find("release");
  if (release != nullptr && role == DocumentRole::Policy)
    return fail(section.error_at_key(*release, "\"release\" in [protect] is for ceilings only",
                                     "move it to the operator's ceiling"));
  CORDON_TRY(added, names(section, "add"));
  for (const PlacedText& word : added) protect.add.push_back(*word.text);
  CORDON_TRY(released, names(section, "release"));
  for (const PlacedText& word : released) {
    if (!can_be_released(*word.text))
      return fail(section.error_at(*word.node, shown(*word.text) + " cannot be released",
                                   "only a name of the table can, and no part of .git"));
    protect.release.push_back(*word.text);
  }
  return {};
}

}  // namespace cordon
