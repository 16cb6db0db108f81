// What a terminal shows of a program's output, as plain text: colours, titles and movements of the
// cursor leave nothing behind. sanitize() shows them as escapes instead, for people who have to see
// what was tried; where one line of output is passed on as a message nobody wants to read them.
#pragma once

#include <string>
#include <string_view>

namespace cordon {

// Without escape sequences, other controls, bidirectional controls and invisible characters, so
// that nothing is left that could move a cursor or reorder what is read. Newline, carriage return
// and tab stay; what is not UTF-8 becomes U+FFFD. A sequence that ends nowhere ends with its line.
std::string without_terminal_sequences(std::string_view text);

// What sanitize() escapes of valid UTF-8: C0, DEL and C1.
bool is_control_character(char32_t c);
// Bidirectional controls, line separators, invisible operators, interlinear marks and tags, which
// reorder, hide or split what is read. U+200C and U+200D are none: scripts and emoji are written
// with them.
bool is_misleading_character(char32_t c);

}  // namespace cordon
