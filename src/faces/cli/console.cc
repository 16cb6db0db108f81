#include "faces/cli/console.h"

#include <poll.h>
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

// Code points, which is what columns are here: cells hold no wide characters.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

void TextTable::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = sanitize(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(width_of(column.title));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string out;
  const auto put = [&](std::size_t i, const std::string& cell, bool last) {
    const std::string pad(widths[i] - width_of(cell), ' ');
    if (columns_[i].align == Align::Right) out.append(pad).append(cell);
    if (columns_[i].align == Align::Left) out.append(cell).append(last ? "" : pad);
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
