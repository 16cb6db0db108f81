#include "page.h"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <sstream>

namespace bench {
namespace {

std::string_view word(Verdict verdict) {
  switch (verdict) {
    case Verdict::Met:
      return "met";
    case Verdict::Missed:
      return "**missed**";
    case Verdict::NoTarget:
      return "";
  }
  return "";
}

std::string value_text(double value, const std::string& unit, const std::string& more) {
  std::string text =
      unit == "x" ? fmt::format("{:.2f}x", value) : fmt::format("{:.0f} {}", value, unit);
  return more.empty() ? text : text + ", " + more;
}

std::string gate_text(const char* sign, double gate, const std::string& unit) {
  return unit == "x" ? fmt::format("{} {:.2f}x", sign, gate)
                     : fmt::format("{} {:.0f} {}", sign, gate, unit);
}

}  // namespace

Figure at_most(std::string quantity, double value, double gate, const std::string& unit,
               const std::string& more) {
  return {std::move(quantity), value_text(value, unit, more), gate_text("≤", gate, unit),
          value <= gate ? Verdict::Met : Verdict::Missed};
}

Figure at_least(std::string quantity, double value, double gate, const std::string& unit,
                const std::string& more) {
  return {std::move(quantity), value_text(value, unit, more), gate_text("≥", gate, unit),
          value >= gate ? Verdict::Met : Verdict::Missed};
}

Figure plain(std::string quantity, std::string measured) {
  return {std::move(quantity), std::move(measured), {}, Verdict::NoTarget};
}

std::string as_text(const Page& page) {
  std::string text = page.machine + "\n";
  for (const Figure& figure : page.figures) {
    text += fmt::format("{:<58} {:<34} {:<12} {}\n", figure.quantity, figure.measured,
                        figure.target, word(figure.verdict));
  }
  for (const std::string& note : page.notes) text += "- " + note + "\n";
  return text;
}

std::string as_table(const Page& page) {
  std::string text = page.machine + "\n\n| quantity | measured | target | |\n|---|---|---|---|\n";
  for (const Figure& figure : page.figures) {
    text += fmt::format("| {} | {} | {} | {} |\n", figure.quantity, figure.measured, figure.target,
                        word(figure.verdict));
  }
  text += "\n";
  for (const std::string& note : page.notes) text += "- " + note + "\n";
  return text;
}

bool write_section(const std::string& file, const std::string& name, const std::string& text) {
  std::ostringstream old;
  old << std::ifstream(file).rdbuf();
  std::string page = old.str();
  const std::string begin = "<!-- begin " + name + " -->\n";
  const std::string end = "<!-- end " + name + " -->\n";
  const std::string section = begin + text + end;
  const std::size_t from = page.find(begin);
  const std::size_t to = page.find(end);
  if (from == std::string::npos || to == std::string::npos || to < from) {
    page += (page.empty() ? "" : "\n") + section;
  } else {
    page.replace(from, to + end.size() - from, section);
  }
  std::ofstream out(file);
  out << page;
  if (out.flush()) return true;
  std::fprintf(stderr, "cannot write %s\n", file.c_str());
  return false;
}

}  // namespace bench
