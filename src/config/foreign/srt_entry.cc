#include <algorithm>
#include <array>

#include "base/path.h"
#include "config/decode.h"
#include "config/document_text.h"
#include "config/foreign/srt_parts.h"
#include "config/path_entry.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 2> kEntryKeys{"path", "literal"};

// `text` below `place`, which is canonical: its parents are what they are spelled.
std::string below(std::string place, std::string_view text) {
  while (text == ".." || text.starts_with("../")) {
    place = parent(place);
    text.remove_prefix(std::min<std::size_t>(3, text.size()));
  }
  return join(place, text);
}

}  // namespace

Result<SrtEntry> read_srt_entry(const Section& table, const Node& node, const Places& places,
                                ForeignTables& tables) {
  const std::string* text = node.text();
  bool literal = false;
  if (text == nullptr) {
    CORDON_TRY(form, tables.open(node, "filesystem", kEntryKeys, UnknownKeys::Refused));
    CORDON_TRY(path, form.text("path"));
    CORDON_TRY(flag, form.flag("literal"));
    if (!path) return fail(form.error_at(node, "missing key \"path\""));
    text = path->text;
    literal = flag.value_or(false);
  }
  if (text->empty()) return fail(table.error_at(node, "empty path"));
  if (literal && is_glob(*text)) {
    return fail(table.error_at(node, "path " + shown(*text) + " holds a wildcard character"));
  }
  SrtEntry entry{*text, is_glob(*text), &node};
  const bool at_home = entry.path == "~" || entry.path.starts_with("~/");
  if (at_home || !entry.path.starts_with('/')) {
    const std::string& place = at_home ? places.home : places.cwd;
    if (!place.starts_with('/') || is_glob(place)) {
      return fail(table.error_at(
          node, "path " + shown(*text) + " cannot be written out below " + shown(place)));
    }
    entry.path = at_home ? place + entry.path.substr(1) : below(place, entry.path);
    tables.lose("filesystem", shown(*text) + " is written out as " + shown(entry.path));
  }
  // Only a trailing "/**" is known in lists that are not patterns.
  if (entry.path.ends_with("/**") && !is_glob(entry.path.substr(0, entry.path.size() - 3))) {
    entry.path.resize(std::max<std::size_t>(entry.path.size() - 3, 1));
    entry.pattern = false;
  }
  entry.path = normalize(entry.path);
  if (auto legal = check_path_entry(entry.path, PathUse::Read); !legal) {
    return fail(placed(table, node, std::move(legal).error()));
  }
  if (has_dotdot(entry.path)) {
    return fail(table.error_at(node, "path " + shown(*text) + " has \"..\" in it",
                               "write the path that is meant"));
  }
  return entry;
}

}  // namespace cordon
