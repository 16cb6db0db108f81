// What Cordon says to a person: answers on standard output, everything else on standard error.
// Whatever came from a file name or a sandbox is sanitized before it gets here or on the way.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/change.h"
#include "cordon/error.h"
#include "cordon/outcome.h"
#include "cordon/policy.h"
#include "faces/cli/notices.h"

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

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

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

// Auto: on a terminal, and never with NO_COLOR or TERM=dumb.
enum class ColorUse { Auto, Always, Never };
void use_colors(ColorUse use);  // of this process, from now on
bool uses_colors(int descriptor);
// In that colour where colours are used.
std::string tinted(int descriptor, Tint tint, std::string_view text);

// `cordon: place: what`, notes, then `hint: ...`.
void say_error(const Error& error);
// `cordon: reduced write /x: outside-ceiling`.
void say_reductions(const std::vector<Reduction>& reductions, Notices& notices);
void say_warning(const std::string& line);
// What was denied in a run, by what and how often.
std::string denial_words(const Denial& denial);
// The same with what would permit it.
std::string denial_text(const Denial& denial);
inline constexpr std::string_view kNothingGrants = "nothing can grant it";
// The line of RunInput::tell_choice.
void say_choice(const std::string& line);
// Of RunInput::tell_copying: a line that counts, at a terminal and not before half a second has
// passed.
std::function<void(std::optional<std::uint64_t>)> copy_progress();
// What each listed socket of the host gives away, where that is known.
void say_dangers(const std::vector<PathRule>& sockets);
// What the run did not write for good: one line for each protected object, with the command that
// takes it.
// Those that are told as handoffs already are only counted.
void say_changes(const std::vector<Change>& changes, const std::vector<Quarantined>& handoffs,
                 Notices& notices);
void say_handoffs(const std::vector<Quarantined>& handoffs, Notices& notices);
// That the command's output did not arrive, for faces that tell nothing else of an outcome.
void say_lost_output(const Outcome& outcome);
// Kills, limits reached, output that was lost and protected files that were moved away. What ended
// the command or was lost is said at once and never folded.
void say_outcome(const Outcome& outcome, Notices& notices);

}  // namespace cordon
