// One page of a file: lines as text, or bytes as Base64.
#include <algorithm>
#include <cerrno>

#include "base/base64.h"
#include "base/sha256.h"
#include "base/text.h"
#include "mcp/inside/inside.h"
#include "mcp/inside/whole_file.h"
#include "mcp/members.h"

namespace cordon::mcp {
namespace {

constexpr std::size_t kMostLooked = std::size_t{64} << 20U;  // a longer file has no hash
constexpr std::size_t kMostBytes = 20'000;                   // more than any answer holds

// Where line `number`, counted from 1, begins.
std::size_t line_begin(std::string_view text, std::size_t number) {
  std::size_t at = 0;
  for (std::size_t line = 1; line < number && at < text.size(); ++line) {
    const std::size_t end = text.find('\n', at);
    at = end == std::string_view::npos ? text.size() : end + 1;
  }
  return at;
}

std::size_t count_lines(std::string_view text) {
  const auto ends = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  return ends + (text.empty() || text.ends_with('\n') ? 0 : 1);
}

// Whole lines as far as they fit; a first line that does not is cut.
std::string_view lines_from(std::string_view text, std::size_t start, std::size_t most) {
  std::string_view rest = text.substr(line_begin(text, start));
  std::size_t end = 0;
  for (std::size_t line = 0; line < most && end < rest.size(); ++line) {
    const std::size_t newline = rest.find('\n', end);
    const std::size_t next = newline == std::string_view::npos ? rest.size() : newline + 1;
    if (next > kMostBytes) return rest.substr(0, end != 0 ? end : kMostBytes);
    end = next;
  }
  return rest.substr(0, end);
}

// What stands around a part of the file: whoever masks secrets must see those that the part cuts.
void add_context(Node& answer, const std::string& content, std::string_view part) {
  constexpr std::size_t kBefore = std::size_t{16} << 10U;  // a private key fits in
  constexpr std::size_t kBehind = std::size_t{4} << 10U;
  const auto begin = static_cast<std::size_t>(part.data() - content.data());
  const std::size_t end = begin + part.size();
  const std::size_t from = begin - std::min(begin, kBefore);
  answer.set("before", to_utf8(std::string_view(content).substr(from, begin - from)))
      .set("behind", to_utf8(std::string_view(content).substr(end, kBehind)));
}

}  // namespace

InsideReply read_inside(const std::string& path, const Node& request) {
  const auto file = read_whole(path, kMostLooked);
  if (!file) return tl::make_unexpected(file.error());
  const std::string& content = file->content;
  Node answer{NodeMap{}};
  const bool whole = content.size() == file->version.size;
  answer.set("size", file->version.size);
  if (whole) answer.set("sha256", sha256_hex(content)).set("lines", count_lines(content));
  const std::string* encoding = text_member(request, "encoding");
  if (encoding != nullptr && *encoding == "base64") {
    const std::size_t begin = std::min(number_or(request, "start_byte", 0), content.size());
    const std::size_t most = std::min(number_or(request, "most", kMostBytes), kMostBytes);
    const std::string_view part = std::string_view(content).substr(begin, most);
    // As text beside it: what is to be masked must be seen before it is shown in another form.
    answer.set("content", to_utf8(part)).set("base64", base64(part)).set("bytes", part.size());
    add_context(answer, content, part);
    return answer;
  }
  const std::string_view part =
      lines_from(content, std::max<std::size_t>(number_or(request, "start_line", 1), 1),
                 number_or(request, "max_lines", kMostBytes));
  answer.set("content", to_utf8(part)).set("valid", is_valid_utf8(part));
  add_context(answer, content, part);
  return answer;
}

}  // namespace cordon::mcp
