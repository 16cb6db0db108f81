#include "backend/seatbelt/sbpl.h"

#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/text.h"

namespace cordon::seatbelt {
namespace {

bool has_control_byte(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
  });
}

// Digits and a few others stand for themselves, a letter for both of its cases, because the usual
// volume does not tell them apart. Anything else is any character, so that no byte of a name can
// end the literal or mean something in the expression; whether a character of several bytes counts
// as one or as many is not known, so it is any number of them.
void append_literal(std::string& out, char c) {
  constexpr std::string_view kPlain = "/_-~,:@=";
  const bool lower = c >= 'a' && c <= 'z';
  const bool upper = c >= 'A' && c <= 'Z';
  if (lower || upper) {
    const char other = static_cast<char>(c ^ 0x20);
    out.append({'[', c, other, ']'});
  } else if ((c >= '0' && c <= '9') || kPlain.find(c) != std::string_view::npos) {
    out.push_back(c);
  } else if ((static_cast<unsigned char>(c) & 0x80U) == 0) {
    out.push_back('.');
  } else if (!out.ends_with(".*")) {
    out.append(".*");
  }
}

}  // namespace

Result<std::string> quoted(std::string_view text) {
  if (has_control_byte(text)) {
    return fail(policy_error("path " + quote(text) + " holds a control byte"));
  }
  std::string out("\"");
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out.append("\"");
}

std::string real_path(std::string_view path) {
  for (const std::string_view link : {"/etc", "/tmp", "/var"}) {
    if (contains(link, path)) return "/private" + std::string(path);
  }
  return std::string(path);
}

Result<std::string> deny_regex(std::string_view anchor, std::string_view glob) {
  if (has_control_byte(anchor) || has_control_byte(glob)) {
    return fail(policy_error("pattern " + quote(glob) + " holds a control byte"));
  }
  std::string out("#\"^");
  for (const char c : anchor == "/" ? std::string_view() : anchor) append_literal(out, c);
  out.push_back('/');
  while (!glob.empty()) {
    if (glob.starts_with("**/")) {
      out.append("(.*/)?");
      glob.remove_prefix(3);
    } else if (glob.starts_with("**")) {
      out.append(".*");
      glob.remove_prefix(2);
    } else if (glob.front() == '*') {
      out.append("[^/]*");
      glob.remove_prefix(1);
    } else if (const std::size_t close = glob.find(']', 2);
               glob.front() == '[' && close != std::string_view::npos) {
      out.append("[^/]+");  // some character, or more of them if it has several bytes
      glob.remove_prefix(close + 1);
    } else if (glob.front() == '?') {
      out.append("[^/]+");
      glob.remove_prefix(1);
    } else {
      append_literal(out, glob.front());
      glob.remove_prefix(1);
    }
  }
  return out.append("(/.*)?$\"");
}

}  // namespace cordon::seatbelt
