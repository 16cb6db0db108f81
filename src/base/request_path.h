// Paths of HTTP requests and the patterns of rules about them. Nothing here touches a network or a
// disk.
//
// Servers disagree about what a path means: some take %2F for a slash, cut a segment at ";", take
// two slashes for one, or decode a path before they look for its query. So a path has three
// readings, and a rule has to hold for all of them: `strict` is the path as RFC 3986 normalises it,
// which is also what is sent on; `loose` is what the most generous server makes of it; `cut` is
// what is left of that where an escaped "?" or "#" is taken for one. A path that an `allow` does
// not match in every reading does not pass, and one that a `deny` matches in any reading is denied.
// Many servers take /Admin and /admin/ for /admin as well, and those on Windows /admin. with a dot,
// so that a `deny` does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cordon {

struct RequestPath {
  std::string strict;  // begins with a slash; dot segments are gone, escapes in one spelling
  std::string loose;   // no escape is left, parameters cut off, slashes merged, dot segments gone
  std::string cut;     // the same, as far as the first escaped '?' or '#'
  bool operator==(const RequestPath&) const = default;
};

// `path` is what stands before the "?" of a request's target. Refused: what does not begin with a
// slash, characters that no URI has (blanks, controls, backslashes, bytes past ASCII), broken
// escapes, escaped controls, and dot segments that lead above the root.
Result<RequestPath> read_request_path(std::string_view path);

// A pattern of a rule: "*" stands for any characters within one segment, and "/**" at the end for
// the directory itself and everything below it. Everything else is itself, in the spelling of
// RequestPath::strict; of an `allow` case counts.
// "/v1/*" is not "/v1/": a segment that is "*" is not empty.
class PathPattern {
 public:
  static Result<PathPattern> parse(std::string_view text);

  [[nodiscard]] bool allows(const RequestPath& path) const;  // in all readings
  // In any reading, in whatever case, with or without a slash at the end, and dots and blanks at
  // the end of its parts.
  [[nodiscard]] bool denies(const RequestPath& path) const;
  [[nodiscard]] const std::string& text() const { return text_; }
  // True if each path that `other` matches is matched by this one. May answer false where it is so.
  [[nodiscard]] bool covers(const PathPattern& other) const;

 private:
  enum class End { Exact, Below };
  struct Reading {
    std::vector<std::string> segments;  // without the last "**"
    End end = End::Exact;
  };
  static Reading reading(std::string_view path);
  static bool matches(const Reading& pattern, std::string_view path);
  static bool covers(const Reading& wide, const Reading& narrow);
  using SpellSegment = std::string (*)(std::string_view segment);
  [[nodiscard]] bool denies(const RequestPath& path, SpellSegment spell) const;

  std::string text_;
  // A pattern has the readings as well, so that one with an escaped slash can be written.
  Reading strict_;
  Reading loose_;
  Reading cut_;
};

// A method that can pass: a token of RFC 9110 in capitals, since some servers take "get" for GET
// and a rule does not. CONNECT and TRACE are none: the one asks for a tunnel, the other sends back
// what it was sent, secrets included.
bool is_request_method(std::string_view text);

}  // namespace cordon
