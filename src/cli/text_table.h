// Columns and bars for answers to people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cordon {

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

}  // namespace cordon
