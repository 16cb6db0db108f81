#include "host/folded_names.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "policy/protected_names.h"

namespace cordon {
namespace {

// By these git takes a directory for one of its own.
constexpr std::array<std::string_view, 8> kOfGit = {".git",      "HEAD",      "objects", "refs",
                                                    "commondir", "worktrees", "modules", "hooks"};

// Characters that some file systems leave out when they compare names: they are invisible.
constexpr auto kIgnored =
    std::to_array<std::pair<std::uint32_t, std::uint32_t>>({{0xad, 0xad},
                                                            {0x34f, 0x34f},
                                                            {0x61c, 0x61c},
                                                            {0x115f, 0x1160},
                                                            {0x17b4, 0x17b5},
                                                            {0x180b, 0x180f},
                                                            {0x200b, 0x200f},
                                                            {0x202a, 0x202e},
                                                            {0x2060, 0x206f},
                                                            {0x3164, 0x3164},
                                                            {0xfe00, 0xfe0f},
                                                            {0xfeff, 0xfeff},
                                                            {0xffa0, 0xffa0},
                                                            {0xe0000, 0xe0fff}});

bool is_ignored(std::uint32_t code) {
  return std::ranges::any_of(
      kIgnored, [&](const auto& range) { return range.first <= code && code <= range.second; });
}

// One character of UTF-8, which is taken away; nothing if it is none.
std::optional<std::uint32_t> take_character(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if ((first >= 0x80 && first < 0xc2) || text.size() < length) return std::nullopt;
  std::uint32_t code = length == 1 ? first : first & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) code = code << 6U | (byte(i) & 0x3fU);
  text.remove_prefix(length);
  return code;
}

// In lower case, without what is ignored; nothing if a character is left that is not of ASCII.
std::optional<std::string> folded(std::string_view name) {
  constexpr std::uint32_t kLongS = 0x17f;
  constexpr std::uint32_t kKelvin = 0x212a;
  std::string result;
  while (!name.empty()) {
    const auto code = take_character(name);
    if (!code) return std::nullopt;
    if (is_ignored(*code)) continue;
    const std::uint32_t plain = *code == kLongS ? 's' : *code == kKelvin ? 'k' : *code;
    if (plain >= 0x80) return std::nullopt;
    result += static_cast<char>(plain);
  }
  return lower_case(result);
}

class Spellings {
 public:
  Spellings() {
    for (const std::string_view name : kOfGit) add(name);
    for (const ProtectedName& entry : protected_names())
      for (const std::string_view part : split(entry.name, '/')) add(part);
  }

  [[nodiscard]] std::string_view of(std::string_view name) const {
    const bool plain = std::ranges::all_of(name, [](char c) { return (c & 0x80) == 0; });
    if (name.empty() || (plain && !may_be(name)) || exact_.contains(name)) return {};
    const auto text = folded(name);
    const auto found = text ? by_fold_.find(*text) : by_fold_.end();
    return found == by_fold_.end() ? std::string_view() : found->second;
  }

 private:
  void add(std::string_view name) {
    exact_.insert(name);
    std::string text = lower_case(name);
    lengths_[static_cast<unsigned char>(text.front())] |= bit(name);
    by_fold_.emplace(std::move(text), name);
  }

  static std::uint64_t bit(std::string_view name) {
    return std::uint64_t{1} << std::min<std::size_t>(name.size(), 63);
  }
  // Nearly no name of a tree gets past this.
  [[nodiscard]] bool may_be(std::string_view name) const {
    const char first = name.front();
    const char lower = first >= 'A' && first <= 'Z' ? static_cast<char>(first + 0x20) : first;
    return (lengths_[static_cast<unsigned char>(lower)] & bit(name)) != 0;
  }

  std::set<std::string_view> exact_;
  std::map<std::string, std::string_view, std::less<>> by_fold_;
  std::array<std::uint64_t, 256> lengths_{};  // by first byte: bit n for names of n bytes
};

}  // namespace

std::string_view known_spelling(std::string_view name) {
  static const Spellings kSpellings;
  return kSpellings.of(name);
}

}  // namespace cordon
