// What Cordon says to a person: answers on standard output, everything else on standard error.
// Whatever came from a file name or a sandbox is sanitized before it gets here or on the way.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/error.h"
#include "cordon/policy.h"

namespace cordon {

// Columns and bars for answers to people.

enum class Align { Left, Right };

class TextTable {
 public:
  struct Column {
    std::string title;
    Align align = Align::Left;
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // Cells are sanitized.
  void add(std::vector<std::string> cells);
  [[nodiscard]] std::string text() const;
  // The same, or, where a line of it has more than `columns`, each row by itself: every cell behind
  // its title, over as many lines as it takes.
  [[nodiscard]] std::string text_in(std::size_t columns) const;
  // As wide as the terminal behind `descriptor`, if it is one.
  [[nodiscard]] std::string text_for(int descriptor) const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// The columns of the terminal behind `descriptor`; nothing if it is none, or does not say.
std::optional<std::size_t> columns_of(int descriptor);

// Each line of `text` that has more than `columns` broken at blanks. What follows is indented by
// two, or, where the line itself is, by `hanging`. A word is never broken: it may be a path that
// somebody copies.
std::string wrapped(std::string_view text, std::size_t columns, std::size_t hanging);
// A TOML document in which lists that are longer than that go over several lines, and nothing else
// is changed: it is the same document.
std::string wrapped_lists(std::string_view toml, std::size_t columns);

enum class BarStyle { Blocks, Plain };  // eighths of Unicode blocks, or "#"
std::string bar(std::uint64_t value, std::uint64_t largest, std::size_t width, BarStyle style);

enum class Tint { Plain, Bad, Warning, Good, Quiet };

// Writes all of it; false if the reader is gone.
bool write_all(int descriptor, std::string_view text);
bool say_answer(std::string_view text);  // to standard output; says itself why it could not
void say(std::string_view text);         // to standard error, as it is

// What this thread says goes to `descriptor` instead of standard error, for as long as this lives.
class SayTo {
 public:
  explicit SayTo(int descriptor);
  ~SayTo();
  SayTo(const SayTo&) = delete;
  SayTo& operator=(const SayTo&) = delete;

 private:
  int before_;
};

// Whether that is a terminal.
bool says_to_terminal();

// Whether standard error is a terminal on which a line can be written over: with TERM=dumb none
// can.
bool counts_in_place();

// Auto: on a terminal, and never with NO_COLOR or TERM=dumb.
enum class ColorUse { Auto, Always, Never };
void use_colors(ColorUse use);  // of this process, from now on
bool uses_colors(int descriptor);
// In that colour where colours are used.
std::string tinted(int descriptor, Tint tint, std::string_view text);

// `cordon: text`, the first word in that colour.
void say_tinted(Tint tint, std::string_view text);
// `cordon: place: what`, notes, then `hint: ...`.
void say_error(const Error& error);
void say_warning(const std::string& line);
// The line of RunInput::tell_choice.
void say_choice(const std::string& line);
// Of RunInput::tell_copying: a line that counts, at a terminal and not before half a second has
// passed.
std::function<void(std::optional<std::uint64_t>)> copy_progress();
// What each listed socket of the host gives away, where that is known.
void say_dangers(const std::vector<PathRule>& sockets);

}  // namespace cordon
