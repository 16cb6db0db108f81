#include "faces/mcp/tools/secret_mask.h"

#include <algorithm>
#include <array>
#include <optional>

#include "policy/environment.h"

namespace cordon::mcp {
namespace {

constexpr std::size_t kShortestValue = 8;
constexpr std::string_view kMask = "[secret]";

// The alphabets tokens are written in.
enum class Letters { Alphanumeric, Upper, Word };  // Word: letters, digits, '_' and '-'

bool belongs(Letters letters, char c) {
  const bool upper = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  const bool lower = c >= 'a' && c <= 'z';
  switch (letters) {
    case Letters::Upper:
      return upper;
    case Letters::Alphanumeric:
      return upper || lower;
    case Letters::Word:
      return upper || lower || c == '_' || c == '-';
  }
  return false;
}

struct Shape {
  std::string_view prefix;
  Letters letters;
  std::size_t least;  // letters behind the prefix
};

constexpr std::array kShapes{
    Shape{"github_pat_", Letters::Word, 22},
    Shape{"ghp_", Letters::Alphanumeric, 30},
    Shape{"gho_", Letters::Alphanumeric, 30},
    Shape{"ghu_", Letters::Alphanumeric, 30},
    Shape{"ghs_", Letters::Alphanumeric, 30},
    Shape{"ghr_", Letters::Alphanumeric, 30},
    Shape{"glpat-", Letters::Word, 20},
    Shape{"sk-", Letters::Word, 20},
    Shape{"sk_live_", Letters::Alphanumeric, 20},
    Shape{"rk_live_", Letters::Alphanumeric, 20},
    Shape{"AKIA", Letters::Upper, 16},
    Shape{"ASIA", Letters::Upper, 16},
    Shape{"AIza", Letters::Word, 35},
    Shape{"xoxb-", Letters::Word, 20},
    Shape{"xoxp-", Letters::Word, 20},
    Shape{"xoxa-", Letters::Word, 20},
    Shape{"xoxs-", Letters::Word, 20},
    Shape{"npm_", Letters::Alphanumeric, 36},
    Shape{"pypi-", Letters::Word, 32},
    Shape{"hf_", Letters::Alphanumeric, 30},
    Shape{"dop_v1_", Letters::Alphanumeric, 40},
};

std::size_t run_of(Letters letters, std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && belongs(letters, text[length])) ++length;
  return length;
}

std::size_t shaped_token(std::string_view text) {
  for (const Shape& shape : kShapes) {
    if (!text.starts_with(shape.prefix)) continue;
    const std::size_t length = run_of(shape.letters, text.substr(shape.prefix.size()));
    if (length >= shape.least) return shape.prefix.size() + length;
  }
  return 0;
}

// Three parts of base64url, of which the first two begin as every JSON object does.
std::size_t web_token(std::string_view text) {
  constexpr std::size_t kLeast = 10;
  std::size_t at = 0;
  for (int part = 0; part < 3; ++part) {
    const std::string_view rest = text.substr(at);
    if (part < 2 && !rest.starts_with("eyJ")) return 0;
    const std::size_t length = run_of(Letters::Word, rest);
    if (length < kLeast) return 0;
    at += length;
    if (part == 2) break;
    if (at >= text.size() || text[at] != '.') return 0;
    ++at;
  }
  return at;
}

// A private key in its armour; one that is cut off counts to the end.
std::size_t private_key(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  constexpr std::string_view kEnd = "-----END ";
  constexpr std::size_t kLongestTitle = 64;
  if (!text.starts_with(kBegin)) return 0;
  const std::size_t title = text.substr(0, kLongestTitle).find("PRIVATE KEY");
  if (title == std::string_view::npos) return 0;
  const std::size_t end = text.find(kEnd, title);
  if (end == std::string_view::npos) return text.size();
  const std::size_t close = text.find("-----", end + kEnd.size());
  return close == std::string_view::npos ? text.size() : close + 5;
}

std::size_t token_at(std::string_view text, bool at_word_start) {
  if (const std::size_t length = private_key(text)) return length;
  if (!at_word_start) return 0;
  if (const std::size_t length = shaped_token(text)) return length;
  return web_token(text);
}

// A shorter part tells nothing, and would be found in ordinary words.
constexpr std::size_t kShortestPart = 4;
// No token is longer; what is, is something else without blanks.
constexpr std::size_t kLongestToken = 4096;

bool is_of_token(char c) { return c == '.' || belongs(Letters::Word, c); }

bool begins_token(std::string_view text) {
  const auto begins = [&](const Shape& shape) { return text.starts_with(shape.prefix); };
  return text.starts_with("eyJ") || std::ranges::any_of(kShapes, begins);
}

// The rest of a private key, up to the end of its armour.
std::size_t rest_of_private_key(std::string_view text) {
  const std::size_t end = text.find("-----END ");
  if (end == std::string_view::npos || text.substr(0, end).find("-----BEGIN ") < end) return 0;
  const std::string_view title = text.substr(end, text.find('\n', end) - end);
  return title.find("PRIVATE KEY") == std::string_view::npos ? 0 : end + title.size();
}

}  // namespace

SecretMask::SecretMask(const std::map<std::string, std::string>& environment) {
  for (const auto& [name, value] : environment) {
    if (is_secret_name(name)) add(value);
  }
}

void SecretMask::add(std::string value) {
  if (value.size() < kShortestValue) return;
  values_.push_back(std::move(value));
  std::ranges::sort(values_, std::ranges::greater{}, &std::string::size);
}

std::vector<SecretMask::Span> SecretMask::spans(std::string_view text) const {
  std::vector<Span> found;
  std::size_t at = 0;
  bool at_word_start = true;
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    const auto known = std::ranges::find_if(
        values_, [&](const std::string& value) { return rest.starts_with(value); });
    const std::size_t length =
        known != values_.end() ? known->size() : token_at(rest, at_word_start);
    if (length == 0) {
      at_word_start = !belongs(Letters::Alphanumeric, rest.front());
      ++at;
      continue;
    }
    found.push_back({at, at + length});
    at += length;
    at_word_start = false;
  }
  return found;
}

SecretMask::Masked SecretMask::part(std::string_view text, const std::vector<Span>& spans,
                                    std::size_t begin, std::size_t end) {
  Masked masked;
  std::size_t at = begin;
  const auto first = std::ranges::upper_bound(spans, begin, {}, &Span::end);
  for (auto span = first; span != spans.end() && span->begin < end; ++span) {
    if (span->begin > at) masked.text.append(text.substr(at, span->begin - at));
    masked.text.append(kMask);
    ++masked.count;
    at = span->end;
  }
  if (at < end) masked.text.append(text.substr(at, end - at));
  return masked;
}

SecretMask::Masked SecretMask::mask(std::string_view text) const {
  return part(text, spans(text), 0, text.size());
}

// How much at the end of a text may be the beginning of a secret.
std::size_t SecretMask::begun_at_end(std::string_view text) const {
  std::size_t begun = 0;
  for (const std::string& value : values_) {
    std::size_t length = std::min(value.size() - 1, text.size());
    while (length >= kShortestPart && !text.ends_with(std::string_view(value).substr(0, length)))
      --length;
    if (length >= kShortestPart) begun = std::max(begun, length);
  }
  for (std::size_t length = 1; length <= std::min(text.size(), kLongestToken); ++length) {
    const std::size_t at = text.size() - length;
    if (!is_of_token(text[at])) break;
    const bool at_word_start = at == 0 || !belongs(Letters::Alphanumeric, text[at - 1]);
    if (at_word_start && begins_token(text.substr(at))) begun = std::max(begun, length);
  }
  return begun;
}

// How much at the beginning of a text may be the rest of a secret: without its beginning a token is
// a word like any other, but for the digits in it.
std::size_t SecretMask::left_at_begin(std::string_view text) const {
  constexpr std::size_t kShortestRest = 8;
  std::size_t left = rest_of_private_key(text);
  for (const std::string& value : values_) {
    std::size_t length = std::min(value.size() - 1, text.size());
    while (length >= kShortestPart &&
           !text.starts_with(std::string_view(value).substr(value.size() - length)))
      --length;
    if (length >= kShortestPart) left = std::max(left, length);
  }
  const auto end = std::ranges::find_if_not(text, is_of_token);
  const auto word = static_cast<std::size_t>(end - text.begin());
  const bool digits = text.substr(0, word).find_first_of("0123456789") != std::string_view::npos;
  if (word >= kShortestRest && word <= kLongestToken && digits) left = std::max(left, word);
  return left;
}

SecretMask::Masked SecretMask::mask_before_gap(std::string_view text) const {
  const std::size_t begun = begun_at_end(text);
  Masked masked = mask(text.substr(0, text.size() - begun));
  if (begun == 0) return masked;
  masked.text.append(kMask);
  ++masked.count;
  return masked;
}

SecretMask::Masked SecretMask::mask_behind_gap(std::string_view text) const {
  const std::size_t left = left_at_begin(text);
  Masked masked = mask(text.substr(left));
  if (left == 0) return masked;
  masked.text.insert(0, kMask);
  ++masked.count;
  return masked;
}

}  // namespace cordon::mcp
