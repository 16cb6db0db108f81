#include "page.h"

#include <fmt/format.h>

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

std::string as_markdown(const Page& page) {
  std::string text =
      "# Performance\n\n"
      "Written by `tests/bench/launch --write docs/performance.md`; no figure here was typed.\n"
      "Commands that are compared were run in turn in one process, in a new random order each\n"
      "round, each sample only after the machine was quiet. Times are wall clock from spawn to\n"
      "reap, in microseconds; ratios are of medians within one run. bwrap gets the same\n"
      "namespaces and binds and has neither Landlock nor a seccomp filter; Cordon always has all\n"
      "its layers.\n\n";
  text += page.machine + "\n\n| quantity | measured | target | |\n|---|---|---|---|\n";
  for (const Figure& figure : page.figures) {
    text += fmt::format("| {} | {} | {} | {} |\n", figure.quantity, figure.measured, figure.target,
                        word(figure.verdict));
  }
  text += "\n";
  for (const std::string& note : page.notes) text += "- " + note + "\n";
  return text;
}

}  // namespace bench
