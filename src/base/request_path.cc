#include "base/request_path.h"

#include <algorithm>
#include <optional>
#include <span>

namespace cordon {
namespace {

constexpr std::string_view kUnreserved = "-._~";
// What RFC 9110 lets a method hold beside letters and digits.
constexpr std::string_view kOfMethod = "!#$%&'*+-.^_`|~";
// What RFC 3986 lets a path hold beside letters, digits and escapes.
constexpr std::string_view kOfPath = "-._~!$&'()*+,;=:@/";

bool is_one_of(std::string_view characters, char c) {
  return characters.find(c) != std::string_view::npos;
}

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::optional<unsigned> hex_value(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  const char upper = static_cast<char>(c & ~0x20);
  if (upper >= 'A' && upper <= 'F') return static_cast<unsigned>(upper - 'A' + 10);
  return std::nullopt;
}

// The byte an escape at `at` stands for.
std::optional<char> escaped_byte(std::string_view text, std::size_t at) {
  if (at + 2 >= text.size()) return std::nullopt;
  const auto high = hex_value(text[at + 1]);
  const auto low = hex_value(text[at + 2]);
  if (!high || !low) return std::nullopt;
  return static_cast<char>(*high << 4U | *low);
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// In the one spelling: unreserved characters as themselves, escapes with capitals.
Result<std::string> one_spelling(std::string_view path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  if (!path.starts_with('/')) return fail(policy_error("the path does not begin with a slash"));
  std::string text;
  text.reserve(path.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') {
      if (!is_letter_or_digit(path[i]) && !is_one_of(kOfPath, path[i]))
        return fail(policy_error("the path holds a character that no path of a URL has"));
      text += path[i];
      continue;
    }
    const auto byte = escaped_byte(path, i);
    if (!byte) return fail(policy_error("the path holds a broken escape"));
    if (is_control(*byte)) return fail(policy_error("the path holds an escaped control character"));
    if (is_letter_or_digit(*byte) || is_one_of(kUnreserved, *byte)) {
      text += *byte;
    } else {
      const auto value = static_cast<unsigned char>(*byte);
      text += {'%', kDigits[value >> 4U], kDigits[value & 0xfU]};
    }
    i += 2;
  }
  return text;
}

std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> segments;
  for (std::size_t begin = 1;;) {
    const std::size_t end = path.find('/', begin);
    segments.push_back(path.substr(begin, end - begin));
    if (end == std::string_view::npos) return segments;
    begin = end + 1;
  }
}

template <typename Segments>
std::string joined(const Segments& segments) {
  std::string path;
  for (const auto& segment : segments) path.append("/").append(segment);
  return path;
}

// A dot segment at the end leaves a directory: "/a/." is "/a/".
Result<std::string> without_dots(std::span<const std::string_view> segments) {
  std::vector<std::string_view> kept;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const bool last = i + 1 == segments.size();
    if (segments[i] != "." && segments[i] != "..") {
      kept.push_back(segments[i]);
      continue;
    }
    if (segments[i] == "..") {
      if (kept.empty()) return fail(policy_error("the path leads above its root"));
      kept.pop_back();
    }
    if (last) kept.emplace_back();
  }
  return joined(kept);
}

// Without any escape, also of an escape: a server behind another one decodes what that one left.
// An escape that is whole ends with what was added last, so that one pass finds them all.
std::string wholly_decoded(std::string_view spelled) {
  std::string decoded;
  for (char next : spelled) {
    decoded += next;
    while (decoded.size() >= 3 && decoded[decoded.size() - 3] == '%') {
      const auto byte = escaped_byte(decoded, decoded.size() - 3);
      if (!byte) break;
      decoded.resize(decoded.size() - 3);
      decoded += *byte;
    }
  }
  return decoded;
}

// A character in more bytes of UTF-8 than it has: readers that do not look take one for a slash or
// a dot.
bool holds_overlong_form(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    const unsigned second = byte(i + 1);
    const bool follows = second >= 0x80 && second < 0xc0;
    if (follows && (byte(i) == 0xc0 || byte(i) == 0xc1 || (byte(i) == 0xe0 && second < 0xa0) ||
                    (byte(i) == 0xf0 && second < 0x90)))
      return true;
  }
  return false;
}

// As the most generous server reads what is decoded.
Result<std::string> loose_reading(std::string_view decoded) {
  std::vector<std::string_view> kept;
  const std::vector<std::string_view> all = segments_of(decoded);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string_view plain = all[i].substr(0, all[i].find(';'));
    if (!plain.empty() || i + 1 == all.size()) kept.push_back(plain);
  }
  return without_dots(kept);
}

// As a server takes it that tells no case from the other.
std::string without_case(std::string_view segment) {
  std::string plain(segment);
  for (char& c : plain)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return plain;
}

// As the file systems of Windows take a name.
std::string without_end(std::string_view segment) {
  const std::size_t last = segment.find_last_not_of(". ");
  return without_case(last == std::string_view::npos ? segment : segment.substr(0, last + 1));
}

// '*' stands for any characters; an empty segment is no segment that "*" alone means.
bool segment_matches(std::string_view pattern, std::string_view text) {
  if (pattern == "*") return !text.empty();
  std::size_t at = 0;
  std::size_t in = 0;
  std::optional<std::size_t> star;
  std::size_t resume = 0;
  while (at < text.size()) {
    if (in < pattern.size() && pattern[in] == '*') {
      star = in++;
      resume = at;
    } else if (in < pattern.size() && pattern[in] == text[at]) {
      ++in;
      ++at;
    } else if (star) {
      in = *star + 1;
      at = ++resume;
    } else {
      return false;
    }
  }
  return pattern.substr(in).find_first_not_of('*') == std::string_view::npos;
}

bool segment_covers(std::string_view wide, std::string_view narrow) {
  if (wide == "*") return !narrow.empty();
  return wide == narrow ||
         (narrow.find('*') == std::string_view::npos && segment_matches(wide, narrow));
}

}  // namespace

Result<RequestPath> read_request_path(std::string_view path) {
  auto spelled = one_spelling(path);
  if (!spelled) return fail(std::move(spelled).error());
  auto strict = without_dots(segments_of(*spelled));
  if (!strict) return fail(std::move(strict).error());
  // Of what is sent: no server sees how it was written before.
  std::string decoded = wholly_decoded(*strict);
  if (std::ranges::any_of(decoded, is_control))
    return fail(policy_error("the path holds an escaped control character"));
  if (holds_overlong_form(decoded))
    return fail(policy_error("the path holds a character in a longer form than it has"));
  std::ranges::replace(decoded, '\\', '/');
  auto loose = loose_reading(decoded);
  if (!loose) return fail(std::move(loose).error());
  auto cut = loose_reading(std::string_view(decoded).substr(0, decoded.find_first_of("?#")));
  if (!cut) return fail(std::move(cut).error());
  return RequestPath{*std::move(strict), *std::move(loose), *std::move(cut)};
}

PathPattern::Reading PathPattern::reading(std::string_view path) {
  Reading read;
  if (path.ends_with("/**")) {
    read.end = End::Below;
    path.remove_suffix(3);
    if (path.empty()) return read;
  }
  for (std::string_view segment : segments_of(path)) read.segments.emplace_back(segment);
  return read;
}

Result<PathPattern> PathPattern::parse(std::string_view text) {
  const auto refuse = [&](std::string_view why, std::string hint) {
    return fail(policy_error(
        "\"" + std::string(text) + "\" is not a pattern of a path: " + std::string(why),
        std::move(hint)));
  };
  if (text.size() > 1024) return refuse("it is longer than 1024 characters", {});
  const auto path = read_request_path(text);
  if (!path)
    return refuse(path.error().what, "write what stands behind the host, as in /v1/models");
  if (path->strict != text)
    return refuse("requests are read as another spelling", "write " + path->strict);
  const std::string_view body = text.ends_with("/**") ? text.substr(0, text.size() - 3) : text;
  if (body.find("**") != std::string_view::npos)
    return refuse("\"**\" stands at its end alone, as in /v1/**", {});
  PathPattern pattern;
  pattern.text_ = text;
  pattern.strict_ = reading(path->strict);
  pattern.loose_ = reading(path->loose);
  pattern.cut_ = reading(path->cut);
  return pattern;
}

bool PathPattern::matches(const Reading& pattern, std::string_view path) {
  const std::vector<std::string_view> segments = segments_of(path);
  const bool below = pattern.end == End::Below;
  if (below ? segments.size() < pattern.segments.size()
            : segments.size() != pattern.segments.size())
    return false;
  for (std::size_t i = 0; i < pattern.segments.size(); ++i)
    if (!segment_matches(pattern.segments[i], segments[i])) return false;
  return true;
}

bool PathPattern::allows(const RequestPath& path) const {
  return matches(strict_, path.strict) && matches(loose_, path.loose) && matches(cut_, path.cut);
}

bool PathPattern::denies(const RequestPath& path) const {
  return denies(path, without_case) || denies(path, without_end);
}

bool PathPattern::denies(const RequestPath& path, SpellSegment spell) const {
  const auto drop_end = [](std::vector<std::string>& segments) {
    while (segments.size() > 1 && segments.back().empty()) segments.pop_back();
  };
  const auto plain = [&](Reading pattern) {
    for (std::string& segment : pattern.segments) segment = spell(segment);
    if (pattern.end == End::Exact) drop_end(pattern.segments);
    return pattern;
  };
  const auto plain_path = [&](std::string_view text) {
    std::vector<std::string> segments;
    for (const std::string_view segment : segments_of(text)) segments.push_back(spell(segment));
    drop_end(segments);
    return joined(segments);
  };
  const Reading by_strict = plain(strict_);
  const std::string loose = plain_path(path.loose);
  const std::string cut = plain_path(path.cut);
  return matches(by_strict, plain_path(path.strict)) || matches(by_strict, loose) ||
         matches(by_strict, cut) || matches(plain(loose_), loose) || matches(plain(cut_), cut);
}

bool PathPattern::covers(const Reading& wide, const Reading& narrow) {
  const bool below = wide.end == End::Below;
  if (!below && narrow.end == End::Below) return false;
  if (below ? narrow.segments.size() < wide.segments.size()
            : narrow.segments.size() != wide.segments.size())
    return false;
  for (std::size_t i = 0; i < wide.segments.size(); ++i)
    if (!segment_covers(wide.segments[i], narrow.segments[i])) return false;
  return true;
}

bool PathPattern::covers(const PathPattern& other) const {
  return covers(strict_, other.strict_) && covers(loose_, other.loose_) && covers(cut_, other.cut_);
}

bool is_request_method(std::string_view text) {
  constexpr std::size_t kLongest = 32;
  if (text.empty() || text.size() > kLongest || text == "CONNECT" || text == "TRACE") return false;
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || is_one_of(kOfMethod, c);
  });
}

}  // namespace cordon
