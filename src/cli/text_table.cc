#include "cli/text_table.h"

#include <algorithm>

#include "base/text.h"

namespace cordon {
namespace {

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

}  // namespace cordon
