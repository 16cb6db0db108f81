#include "faces/cli/console.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/text.h"
#include "policy/known_sockets.h"

namespace cordon {
namespace {

thread_local int said_to = STDERR_FILENO;

// Code points, which is what columns are here: nothing here holds wide characters. Colours take
// none.
std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("\x1b[")) {
      i = std::min(text.find('m', i), text.size());
      continue;
    }
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U) ++width;
  }
  return width;
}

// Pieces one behind the other, and below each other where they would pass `columns`.
std::string filled(const std::vector<std::string>& pieces, std::string_view between,
                   std::size_t columns, std::size_t indent) {
  std::string out;
  std::size_t at = 0;
  for (const std::string& piece : pieces) {
    const std::size_t width = width_of(piece);
    if (&piece != &pieces.front()) {
      if (at + between.size() + width <= columns) {
        out.append(between);
        at += between.size();
      } else {
        out.append("\n").append(indent, ' ');
        at = indent;
      }
    }
    out.append(piece);
    at += width;
  }
  return out;
}

// Where a list in a line of TOML may go on in the next one: behind a comma, outside of texts and of
// inline tables, which may not.
std::vector<std::string> list_pieces(std::string_view line) {
  std::vector<std::string> pieces{{}};
  char quote = 0;
  std::size_t lists = 0;
  std::size_t tables = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    pieces.back().push_back(c);
    if (quote != 0) {
      if (c == '\\' && quote == '"' && i + 1 < line.size()) pieces.back().push_back(line[++i]);
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '"' || c == '\'') quote = c;
    if (c == '#') return {std::string(line)};
    if (c == '[') ++lists;
    if (c == ']' && lists > 0) --lists;
    if (c == '{') ++tables;
    if (c == '}' && tables > 0) --tables;
    if (c != ',' || lists == 0 || tables > 0) continue;
    if (i + 1 < line.size() && line[i + 1] == ' ') ++i;
    pieces.emplace_back();
  }
  return pieces;
}

template <typename Wrap>
std::string each_line(std::string_view text, const Wrap& wrap) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.append(wrap(text.substr(0, end)));
    if (end < text.size()) out.push_back('\n');
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

std::optional<std::size_t> columns_of(int descriptor) {
  winsize window{};
  const bool told = ::isatty(descriptor) == 1 && ::ioctl(descriptor, TIOCGWINSZ, &window) == 0;
  if (!told || window.ws_col == 0) return std::nullopt;
  return window.ws_col;
}

std::string wrapped(std::string_view text, std::size_t columns, std::size_t hanging) {
  return each_line(text, [&](std::string_view line) {
    if (width_of(line) <= columns) return std::string(line);
    // What stands before the first word stays with it.
    std::vector<std::string> words;
    std::size_t begin = 0;
    for (std::size_t at = std::min(line.find_first_not_of(' '), line.size()); at < line.size();) {
      const std::size_t end = std::min(line.find(' ', at), line.size());
      words.emplace_back(line.substr(begin, end - begin));
      at = begin = std::min(end + 1, line.size());
    }
    return filled(words, " ", columns, line.starts_with(' ') ? hanging : 2);
  });
}

std::string wrapped_lists(std::string_view toml, std::size_t columns) {
  return each_line(toml, [&](std::string_view line) {
    if (width_of(line) <= columns) return std::string(line);
    return filled(list_pieces(line), " ", columns, 2);
  });
}

void TextTable::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = sanitize(cell);
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(width_of(column.title));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  return widths;
}

std::string TextTable::text_in(std::size_t columns) const {
  const std::vector<std::size_t> all = widths();
  std::size_t width = 2 * (all.size() - 1);
  for (const std::size_t one : all) width += one;
  if (width <= columns) return text();
  std::string out;
  for (const auto& row : rows_) {
    std::vector<std::string> pieces;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string& title = columns_[i].title;
      if (!row[i].empty()) pieces.push_back(title.empty() ? row[i] : title + " " + row[i]);
    }
    out.append(filled(pieces, "  ", columns, 2)).append("\n");
  }
  return out;
}

std::string TextTable::text_for(int descriptor) const {
  const auto columns = columns_of(descriptor);
  return columns ? text_in(*columns) : text();
}

std::string TextTable::text() const {
  const std::vector<std::size_t> widths = this->widths();
  std::string out;
  const auto put = [&](std::size_t i, const std::string& cell, bool last) {
    const std::string pad(widths[i] - width_of(cell), ' ');
    if (columns_[i].align == Align::Right) out.append(pad).append(cell);
    if (columns_[i].align == Align::Left) out.append(cell).append(last ? "" : pad);
    if (last) out.resize(out.find_last_not_of(' ') + 1);  // an empty cell leaves no blanks
    out.append(last ? "\n" : "  ");
  };
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    put(i, columns_[i].title, i + 1 == columns_.size());
  }
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) put(i, row[i], i + 1 == row.size());
  }
  return out;
}

std::string bar(std::uint64_t value, std::uint64_t largest, std::size_t width, BarStyle style) {
  if (largest == 0 || value == 0) return {};
  const std::uint64_t eighths = std::max<std::uint64_t>(1, value * width * 8 / largest);
  std::string out;
  if (style == BarStyle::Plain) return out.append(std::max<std::size_t>(1, eighths / 8), '#');
  for (std::uint64_t i = 0; i < eighths / 8; ++i) out += "█";
  constexpr const char* kParts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  return out + kParts[eighths % 8];
}

namespace {

ColorUse color_use = ColorUse::Auto;

bool is_dumb_terminal() {
  const char* terminal = std::getenv("TERM");
  return terminal != nullptr && std::string_view(terminal) == "dumb";
}

bool wants_no_colors() {
  const char* no_color = std::getenv("NO_COLOR");
  return (no_color != nullptr && *no_color != '\0') || is_dumb_terminal();
}

std::string_view sequence(Tint tint) {
  switch (tint) {
    case Tint::Plain:
      return "";
    case Tint::Bad:
      return "\x1b[31m";
    case Tint::Warning:
      return "\x1b[33m";
    case Tint::Good:
      return "\x1b[32m";
    case Tint::Quiet:
      return "\x1b[2m";
  }
  return "";
}

}  // namespace

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {  // someone who shares it made it non-blocking
      pollfd polled{descriptor, POLLOUT, 0};
      ::poll(&polled, 1, -1);
      continue;
    }
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool say_answer(std::string_view text) {
  if (write_all(STDOUT_FILENO, text)) return true;
  // A reader that has gone does not want to hear why.
  if (errno != EPIPE) say_error(setup_error("cannot write the answer", errno));
  return false;
}

void say(std::string_view text) { write_all(said_to, text); }

bool says_to_terminal() { return ::isatty(said_to) == 1; }

bool counts_in_place() { return ::isatty(STDERR_FILENO) == 1 && !is_dumb_terminal(); }

SayTo::SayTo(int descriptor) : before_(said_to) { said_to = descriptor; }

SayTo::~SayTo() { said_to = before_; }

void use_colors(ColorUse use) { color_use = use; }

bool uses_colors(int descriptor) {
  if (color_use != ColorUse::Auto) return color_use == ColorUse::Always;
  return !wants_no_colors() && ::isatty(descriptor) == 1;
}

std::string tinted(int descriptor, Tint tint, std::string_view text) {
  if (tint == Tint::Plain || !uses_colors(descriptor)) return std::string(text);
  return std::string(sequence(tint)).append(text).append("\x1b[0m");
}

void say_tinted(Tint tint, std::string_view text) {
  std::string line = tinted(said_to, tint, "cordon:");
  line.append(" ").append(sanitize(text)).append("\n");
  say(line);
}

namespace {

// Somebody may have typed thousands of characters. The report has them; the reason stands last. A
// hint stays whole, since it is to be typed.
std::string abridged(const std::string& text) {
  constexpr std::size_t kFront = 300;
  constexpr std::size_t kBack = 600;
  if (text.size() <= kFront + kBack) return text;
  const auto continues = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  std::size_t front = kFront;
  std::size_t back = text.size() - kBack;
  while (front > 0 && continues(front)) --front;
  while (back < text.size() && continues(back)) ++back;
  return text.substr(0, front) + " … (" + std::to_string(back - front) + " bytes left out) … " +
         text.substr(back);
}

}  // namespace

void say_error(const Error& error) {
  say_tinted(Tint::Bad, abridged(message(error)));
  for (const std::string& note : error.notes) say_tinted(Tint::Bad, "also: " + note);
  if (error.hint.empty()) return;
  std::string line = tinted(said_to, Tint::Good, "hint:");
  line.append(" ").append(sanitize(error.hint)).append("\n");
  say(line);
}

void say_warning(const std::string& line) { say_tinted(Tint::Warning, line); }

void say_choice(const std::string& line) { say_warning(line); }

std::function<void(std::optional<std::uint64_t>)> copy_progress() {
  if (!counts_in_place()) return {};
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kQuiet{500};
  return
      [next = Clock::now() + kQuiet, shown = false](std::optional<std::uint64_t> copied) mutable {
        constexpr std::chrono::milliseconds kBetween{100};
        if (!copied && std::exchange(shown, false)) return say("\r\x1b[K");
        if (!copied || Clock::now() < next) return;
        next = Clock::now() + kBetween;
        shown = true;
        say("\rcordon: copying what may be written: " + std::to_string(*copied) + " files");
      };
}

void say_dangers(const std::vector<PathRule>& sockets) {
  for (const PathRule& socket : sockets) {
    const std::string_view danger = danger_of_socket(socket.text);
    if (danger.empty()) continue;
    say_tinted(Tint::Warning,
               "beware of net.sockets " + quote(socket.text) + ": " + std::string(danger));
  }
}

}  // namespace cordon
