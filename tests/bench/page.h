// The figures of one benchmark run and the page they make.
#pragma once

#include <string>
#include <vector>

namespace bench {

enum class Verdict { Met, Missed, NoTarget };

struct Figure {
  std::string quantity;
  std::string measured;
  std::string target;  // the gate, and the goal where there is one
  Verdict verdict = Verdict::NoTarget;
};

struct Page {
  std::string machine;
  std::vector<std::string>
      notes;  // how many rounds, what was disturbed, what could not be measured
  std::vector<Figure> figures;
  bool steady = true;  // the machine was quiet enough for the figures to mean something
};

// A figure that should be at most, or at least, its gate.
Figure at_most(std::string quantity, double value, double gate, const std::string& unit,
               const std::string& more);
Figure at_least(std::string quantity, double value, double gate, const std::string& unit,
                const std::string& more);
Figure plain(std::string quantity, std::string measured);

std::string as_text(const Page& page);
// The machine, a table and the notes.
std::string as_table(const Page& page);

// Puts the text into its section of a page, between two comments with its name, in place of what
// was there; a page or a section that is missing is made. False if it cannot be written.
bool write_section(const std::string& file, const std::string& name, const std::string& text);

}  // namespace bench
