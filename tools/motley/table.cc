// FormatTable (output.h).
#include <algorithm>

#include "tools/motley/output.h"
#include "tools/motley/terminal_text.h"

namespace motley {
namespace {

using Row = std::vector<std::string>;

constexpr size_t kBetween = 2;    // blanks between columns
constexpr size_t kNarrowest = 8;  // a column is not made narrower

struct Column {
  size_t width = 0;
  bool right = true;  // numbers stand right
};

bool IsNumber(const std::string& cell) {
  return cell.empty() || cell == "-" || (cell[0] >= '0' && cell[0] <= '9');
}

std::vector<Column> Measure(const std::vector<Row>& rows) {
  std::vector<Column> columns;
  for (size_t r = 0; r < rows.size(); ++r) {
    columns.resize(std::max(columns.size(), rows[r].size()));
    for (size_t c = 0; c < rows[r].size(); ++c) {
      columns[c].width = std::max(columns[c].width, DisplayWidth(rows[r][c]));
      if (r > 0 && !IsNumber(rows[r][c])) columns[c].right = false;
    }
  }
  return columns;
}

// Takes from the widest text column until the row fits, or every text column is as narrow as it gets.
void Narrow(std::vector<Column>& columns, size_t width) {
  size_t sum = kBetween * (columns.empty() ? 0 : columns.size() - 1);
  for (const Column& column : columns) sum += column.width;
  while (sum > width) {
    Column* widest = nullptr;
    for (Column& column : columns) {
      if (!column.right && column.width > kNarrowest && (widest == nullptr || column.width > widest->width))
        widest = &column;
    }
    if (widest == nullptr) return;
    --widest->width;
    --sum;
  }
}

std::string Pad(const std::string& cell, const Column& column, bool last) {
  const size_t width = DisplayWidth(cell);
  const std::string pad(column.width > width ? column.width - width : 0, ' ');
  return column.right ? pad + cell : cell + (last ? "" : pad);
}

std::string FormatRow(const Row& row, const std::vector<Column>& columns) {
  std::string text;
  size_t begin = 0;  // of the last column
  for (size_t c = 0; c + 1 < row.size(); ++c) {
    text += Pad(FitInto(row[c], columns[c].width), columns[c], false) + std::string(kBetween, ' ');
    begin += columns[c].width + kBetween;
  }
  const size_t last = row.size() - 1;
  bool first_line = true;
  for (const std::string& line : WrapWords(row[last], columns[last].width)) {
    if (!first_line) text += std::string(begin, ' ');
    text += Pad(line, columns[last], true) + "\n";
    first_line = false;
  }
  return text;
}

}  // namespace

std::string FormatTable(const std::vector<Row>& rows, size_t width) {
  std::vector<Row> safe = rows;
  if (width > 0) {
    for (Row& row : safe)
      for (std::string& cell : row) cell = SafeForTerminal(cell);
  }
  std::vector<Column> columns = Measure(safe);
  if (width > 0) Narrow(columns, width);
  std::string text;
  for (const Row& row : safe) text += row.empty() ? "\n" : FormatRow(row, columns);
  return text;
}

}  // namespace motley
