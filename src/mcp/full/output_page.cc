#include "mcp/full/output_page.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"
#include "mcp/tools/excerpt.h"

namespace cordon::mcp {
namespace {

constexpr std::size_t kSearched = std::size_t{256} << 10U;  // by one call that looks for lines
constexpr std::size_t kReach = std::size_t{64} << 10U;      // of tail_lines

// The bytes without a character that is not complete yet.
std::string_view whole_characters(std::string_view bytes) {
  constexpr std::size_t kLongest = 4;
  for (std::size_t back = 1; back < kLongest && back <= bytes.size(); ++back) {
    const Utf8Step step = utf8_step(bytes.substr(bytes.size() - back));
    if (step.cut_short) return bytes.substr(0, bytes.size() - back);
    if (step.code_point) break;
  }
  return bytes;
}

// A page ends with a line where that costs no more than half of it: a secret that stands in one
// line is then not torn apart, out of the mask's sight.
std::string_view whole_lines(std::string_view bytes) {
  const std::size_t end = bytes.rfind('\n');
  return end != std::string_view::npos && end + 1 >= bytes.size() / 2 ? bytes.substr(0, end + 1)
                                                                      : bytes;
}

// A page is cut where there is room, not where a secret ends: what stands before and behind it is
// looked at too. A private key is longer than any token.
constexpr std::size_t kContextBefore = std::size_t{16} << 10U;
constexpr std::size_t kContextBehind = std::size_t{4} << 10U;

// The bytes of a page with what stands around them.
class Sight {
 public:
  Sight(std::string before, std::string_view bytes, const SecretMask& mask)
      : before_(before.size()),
        all_(std::move(before) + std::string(bytes)),
        mask_(mask),
        spans_(mask.spans(all_)) {}

  [[nodiscard]] std::string_view bytes() const { return std::string_view(all_).substr(before_); }
  // What a model may read of `part`, which is one of bytes().
  [[nodiscard]] SecretMask::Masked show(std::string_view part) const {
    const auto begin = static_cast<std::size_t>(part.data() - all_.data());
    auto shown = SecretMask::part(all_, spans_, begin, begin + part.size());
    // Escaping can bring together what was apart.
    auto clean = mask_.mask(sanitize_lines(shown.text));
    clean.count += shown.count;
    return clean;
  }

 private:
  std::size_t before_;
  std::string all_;
  const SecretMask& mask_;
  std::vector<SecretMask::Span> spans_;
};

struct Shown {
  std::string text;
  std::size_t taken = 0;  // bytes of the stream
  std::size_t masked = 0;
};

Shown show(std::string_view bytes, const Sight& sight, std::size_t room) {
  while (!bytes.empty()) {
    auto masked = sight.show(bytes);
    const std::size_t cost = json_cost(masked.text);
    if (cost <= room) return {std::move(masked.text), bytes.size(), masked.count};
    const std::size_t fewer = std::min(bytes.size() - 1, bytes.size() * room / cost);
    bytes = whole_lines(whole_characters(bytes.substr(0, fewer)));
  }
  return {};
}

Shown show_matching(std::string_view bytes, const Sight& sight, const PageRequest& request) {
  Shown shown;
  while (!bytes.empty()) {
    std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos && !request.ended && bytes.size() < kReach) break;
    end = end == std::string_view::npos ? bytes.size() : end + 1;
    const std::string_view line = bytes.substr(0, end);
    if (line.find(request.only_with) != std::string_view::npos) {
      auto masked = sight.show(line);
      std::string text(masked.text);
      const std::size_t room = request.room - json_cost(shown.text);
      if (json_cost(text) > room) {
        if (!shown.text.empty()) break;
        text = beginning_of(text, room);  // a line longer than any page
      }
      shown.text += text;
      shown.masked += masked.count;
    }
    shown.taken += end;
    bytes.remove_prefix(end);
  }
  return shown;
}

// What stands right before `place`, as far as it is kept.
std::string context_before(const Process& process, OutputFrom from, std::uint64_t place) {
  const std::uint64_t length = std::min<std::uint64_t>(place, kContextBefore);
  if (length == 0) return {};
  auto piece = process.read(from, place - length, length);
  return piece.begin + piece.bytes.size() == place ? std::move(piece.bytes) : std::string();
}

}  // namespace

OutputPage output_page(const Process& process, const SecretMask& mask, const PageRequest& request) {
  const bool searches = !request.only_with.empty();
  const std::size_t most = searches ? kSearched : request.room;
  const auto piece = process.read(request.from, request.offset, most + kContextBehind);
  const Sight sight(context_before(process, request.from, piece.begin), piece.bytes, mask);
  OutputPage page;
  page.missing = piece.begin - request.offset;
  std::string_view bytes = sight.bytes().substr(0, most);
  if (!request.ended || bytes.size() == request.room) bytes = whole_characters(bytes);
  if (!searches && bytes.size() == request.room) bytes = whole_lines(bytes);
  Shown shown = searches ? show_matching(bytes, sight, request) : show(bytes, sight, request.room);
  page.text = std::move(shown.text);
  page.masked = shown.masked;
  page.next = piece.begin + shown.taken;
  return page;
}

std::uint64_t last_lines(const Process& process, OutputFrom from, std::uint64_t bytes,
                         std::uint64_t lines) {
  const std::uint64_t begin = bytes > kReach ? bytes - kReach : 0;
  const auto piece = process.read(from, begin, kReach);
  std::string_view text = piece.bytes;
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (std::uint64_t line = 0; line < lines; ++line) {
    const std::size_t end = text.rfind('\n');
    if (end == std::string_view::npos) return piece.begin;
    text = text.substr(0, end);
  }
  return piece.begin + text.size() + 1;
}

}  // namespace cordon::mcp
