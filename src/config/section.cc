#include "config/section.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/path.h"
#include "base/text.h"
#include "config/node.h"

namespace cordon {
namespace {

constexpr std::size_t kLongestGuess = 64;
constexpr double kMostProcessors = 65536;

constexpr std::array<std::string_view, 2> kKeychainNames{"keychain_access", "keychainAccess"};

struct Measure {
  std::string_view noun;  // "a size"
  std::string_view hint;  // how to write one
  std::optional<std::uint64_t> (*parse)(std::string_view);
};
constexpr Measure kSize{"a size", "write it with a unit: \"512K\", \"64M\", \"2G\"", parse_size};
constexpr Measure kDuration{
    "a duration", "write it with a unit: \"250ms\", \"30s\", \"5m\", \"2h\"", parse_duration};

// "0", "000", "0s": nothing of whatever unit.
bool is_zero(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  return parse_number(text.substr(0, digits)) == 0 &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", digits) ==
             std::string_view::npos;
}

Result<std::optional<std::uint64_t>> measure(const Section& section, std::string_view key,
                                             const Measure& kind) {
  const Node* node = section.find(key);
  if (node == nullptr) return std::nullopt;
  const auto refuse = [&](std::string_view predicate) {
    return fail(section.error_at(*node, section.title(key).append(" ").append(predicate),
                                 std::string(kind.hint)));
  };
  const std::string* text = node->text();
  if (text == nullptr) {
    const bool number = std::holds_alternative<std::int64_t>(node->value) ||
                        std::holds_alternative<double>(node->value);
    if (number) return refuse("needs a unit");
    return refuse(
        std::string("must be ").append(kind.noun).append(", not ").append(kind_name(*node)));
  }
  if (const auto value = kind.parse(*text)) return value;
  if (is_zero(*text)) return refuse("must be more than zero");
  if (parse_number(*text)) return refuse("needs a unit");
  return fail(section.error_at(*node, shown(*text).append(" is not ").append(kind.noun),
                               std::string(kind.hint)));
}

}  // namespace

std::string_view kind_name(const Node& node) {
  struct Namer {
    std::string_view operator()(std::nullptr_t) const { return "null"; }
    std::string_view operator()(bool) const { return "a boolean"; }
    std::string_view operator()(std::int64_t) const { return "an integer"; }
    std::string_view operator()(double) const { return "a fraction"; }
    std::string_view operator()(const std::string&) const { return "a string"; }
    std::string_view operator()(const NodeList&) const { return "a list"; }
    std::string_view operator()(const NodeMap&) const { return "a table"; }
  };
  return std::visit(Namer{}, node.value);
}

std::string suggestion(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.size() > kLongestGuess) return {};
  const auto guess = nearest(word, candidates);
  return guess ? "did you mean \"" + *guess + "\"?" : std::string();
}

namespace {

struct OtherName {
  std::string_view written;
  std::string_view key;
};

// What other tools call the same thing; too far from ours to be found by its letters.
constexpr std::array<OtherName, 7> kOtherNames{{{"filesystem", "fs"},
                                                {"file_system", "fs"},
                                                {"files", "fs"},
                                                {"paths", "fs"},
                                                {"network", "net"},
                                                {"environment", "env"},
                                                {"variables", "env"}}};

std::string hint_for_unknown(std::string_view key, std::span<const std::string_view> keys,
                             const Node& value) {
  const auto* const other = std::ranges::find(kOtherNames, key, &OtherName::written);
  if (other != kOtherNames.end() && value.map() != nullptr &&
      std::ranges::find(keys, other->key) != keys.end()) {
    return "did you mean [" + std::string(other->key) + "]?";
  }
  if (std::string near = suggestion(key, keys); !near.empty()) return near;
  std::string hint = "the keys are";
  for (const std::string_view known : keys) hint.append(" ").append(known);
  return hint;
}

}  // namespace

Result<Section> Section::open(const Node& node, const std::string& file, std::string_view name,
                              std::span<const std::string_view> keys) {
  Section section(node, file, name);
  if (node.map() == nullptr) {
    const std::string subject = name.empty() ? "the document" : "[" + section.name_ + "]";
    return fail(
        section.error_at(node, subject + " must be a table, not " + std::string(kind_name(node))));
  }
  CORDON_CHECK(section.check_keys(keys));
  return section;
}

Result<Section> Section::member(std::string_view name,
                                std::span<const std::string_view> keys) const {
  static const Node kAbsent{NodeMap{}};
  const Node* node = find(name);
  return open(node == nullptr ? kAbsent : *node, *file_, name, keys);
}

Result<void> Section::check_keys(std::span<const std::string_view> keys) const {
  const NodeMap* members = node_->map();
  if (members == nullptr) return {};
  for (const auto& [key, value] : *members) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    const bool* on = std::get_if<bool>(&value.value);
    const bool keychain =
        std::find(kKeychainNames.begin(), kKeychainNames.end(), key) != kKeychainNames.end();
    if (keychain && on != nullptr && *on) {
      return fail(error_at_key(value, shown(key) + " is never granted",
                               "remove it: no policy reaches the keychain"));
    }
    const std::string where = name_.empty() ? "at the top of the document" : "in [" + name_ + "]";
    return fail(error_at_key(value, "unknown key " + shown(key) + " " + where,
                             hint_for_unknown(key, keys, value)));
  }
  return {};
}

Result<std::optional<PlacedText>> Section::text(std::string_view key) const {
  const Node* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (node->text() == nullptr) {
    return fail(error_at(*node,
                         title(key) + " must be a string, not " + std::string(kind_name(*node)),
                         "put it in quotes"));
  }
  return PlacedText{node->text(), node};
}

Result<std::vector<PlacedText>> Section::texts(std::string_view key) const {
  std::vector<PlacedText> found;
  const Node* node = find(key);
  if (node == nullptr) return found;
  const NodeList* list = node->list();
  if (list == nullptr) {
    const bool one = node->text() != nullptr;
    return fail(error_at(
        *node, title(key) + " must be a list of strings, not " + std::string(kind_name(*node)),
        one ? "put it in brackets" : ""));
  }
  found.reserve(list->size());
  for (const Node& element : *list) {
    if (element.text() == nullptr) {
      return fail(error_at(
          element, title(key) + " must hold strings only, not " + std::string(kind_name(element)),
          "put each in quotes"));
    }
    found.push_back(PlacedText{element.text(), &element});
  }
  return found;
}

Result<std::optional<bool>> Section::flag(std::string_view key) const {
  const Node* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (const bool* value = std::get_if<bool>(&node->value)) return *value;
  return fail(error_at(*node,
                       title(key) + " must be true or false, not " + std::string(kind_name(*node)),
                       "write true or false, without quotes"));
}

Result<std::optional<std::uint64_t>> Section::size(std::string_view key) const {
  return measure(*this, key, kSize);
}

Result<std::optional<std::uint64_t>> Section::duration(std::string_view key) const {
  return measure(*this, key, kDuration);
}

Result<std::optional<std::uint64_t>> Section::count(std::string_view key) const {
  const Node* node = find(key);
  if (node == nullptr) return std::nullopt;
  const auto* value = std::get_if<std::int64_t>(&node->value);
  if (value == nullptr) {
    return fail(error_at(
        *node, title(key) + " must be a whole number, not " + std::string(kind_name(*node)),
        "write digits alone, without quotes: 256"));
  }
  if (*value <= 0) {
    return fail(error_at(*node, title(key) + " must be more than zero",
                         "leave the key out to set no limit"));
  }
  return static_cast<std::uint64_t>(*value);
}

Result<std::optional<std::uint64_t>> Section::thousandths(std::string_view key) const {
  const Node* node = find(key);
  if (node == nullptr) return std::nullopt;
  double value = 0;
  if (const auto* whole = std::get_if<std::int64_t>(&node->value)) {
    value = static_cast<double>(*whole);
  } else if (const auto* fraction = std::get_if<double>(&node->value)) {
    value = *fraction;
  } else {
    return fail(error_at(*node,
                         title(key) + " must be a number, not " + std::string(kind_name(*node)),
                         "write it without quotes: 2 or 0.5"));
  }
  // Written so that NaN, which compares false with everything, is refused too.
  if (!(value >= 0.001 && value <= kMostProcessors)) {
    return fail(error_at(*node, title(key) + " must be between 0.001 and 65536",
                         "leave the key out to set no limit"));
  }
  return static_cast<std::uint64_t>(std::llround(value * 1000));
}

std::string Section::title(std::string_view key) const {
  std::string out("\"");
  out.append(key).append("\"");
  if (!name_.empty()) out.append(" in [").append(name_).append("]");
  return out;
}

Error Section::error_at(const Node& value, std::string what, std::string hint) const {
  return document_error(*file_, Position{value.line, value.column}, std::move(what),
                        std::move(hint));
}

Error Section::error_at_key(const Node& member, std::string what, std::string hint) const {
  return document_error(*file_, Position{member.key_line, member.key_column}, std::move(what),
                        std::move(hint));
}

namespace {

// PATH_MAX and NAME_MAX of Linux; PATH_MAX counts the closing NUL.
constexpr std::size_t kMaxPathBytes = 4095;
constexpr std::size_t kMaxNameBytes = 255;

constexpr std::array<std::string_view, 5> kWords{"@cwd", "@system", "@toolchains", "@caches",
                                                 "@repo"};

bool has_control_byte(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
  });
}

bool has_overlong_name(std::string_view text) {
  const auto names = split(text, '/');
  return std::any_of(names.begin(), names.end(),
                     [](std::string_view name) { return name.size() > kMaxNameBytes; });
}

Result<void> check_home_path(std::string_view text) {
  if (text.size() > 1 && text[1] != '/') {
    return fail(policy_error(shown(text) + " names another user's home",
                             "write \"~\", \"~/x\" or an absolute path"));
  }
  if (has_dotdot(text)) {
    return fail(policy_error(shown(text) + " leaves the home directory by \"..\"",
                             "write an absolute path"));
  }
  return {};
}

Result<void> check_word(std::string_view text, PathUse use) {
  if (use == PathUse::Socket) {
    return fail(policy_error(shown(text) + " is not the path of a socket", "name each socket"));
  }
  if (std::find(kWords.begin(), kWords.end(), text) == kWords.end()) {
    std::string hint = suggestion(text, kWords);
    if (hint.empty())
      hint = "write \"./" + std::string(text.substr(0, 64)) + "\" for a file of that name";
    return fail(policy_error("unknown word " + shown(text) + " in a path list", std::move(hint)));
  }
  if (use == PathUse::Write && text != "@cwd" && text != "@repo") {
    return fail(policy_error(shown(text) + " is never writable", "grant it by \"read\""));
  }
  return {};
}

}  // namespace

bool is_root_spelling(std::string_view text) {
  if (!text.starts_with('/')) return false;
  const auto names = split(text, '/');
  return std::all_of(names.begin(), names.end(), [](std::string_view name) {
    return name.empty() || name == "." || name == "..";
  });
}

Result<void> check_path_entry(std::string_view text, PathUse use) {
  if (text.empty()) return fail(policy_error("empty path", "name a path, or leave it out"));
  if (has_control_byte(text)) {
    return fail(policy_error("path " + shown(text) + " holds a control byte",
                             "rename it, or grant the directory that it lies in"));
  }
  if (text.size() > kMaxPathBytes || has_overlong_name(text)) {
    return fail(policy_error("path " + shown(text) + " is longer than the kernel takes",
                             "grant a directory above it"));
  }
  if (text.front() == '~') return check_home_path(text);
  if (text.front() == '@') return check_word(text, use);
  if (use == PathUse::Write && is_root_spelling(text)) {
    return fail(policy_error("the root directory is never writable",
                             "name the directories the command may write"));
  }
  return {};
}

}  // namespace cordon
