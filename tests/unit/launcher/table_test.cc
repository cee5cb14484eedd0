#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tools/motley/output.h"
#include "tools/motley/terminal_text.h"

namespace motley {
namespace {

using Rows = std::vector<std::vector<std::string>>;

const Rows kRows{{"name", "bytes", "what it is"},
                 {"blk.0.attention.query.weight", "1234567", "a matrix of many rows and of many columns"},
                 {"x", "1", ""}};

TEST(FormatTable, AsWideAsItIsWithoutAWidth) {
  EXPECT_EQ(FormatTable({{"name", "bytes"}, {"a", "1"}, {"long name", "23"}}),
            "name       bytes\na              1\nlong name     23\n");
}

TEST(FormatTable, IsNoWiderThanItsWidthAndKeepsNumbersWhole) {
  UseUtf8Locale();
  for (const size_t width : {40u, 50u, 60u, 79u, 80u, 200u}) {
    const std::string table = FormatTable(kRows, width);
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), width) << table;
    EXPECT_NE(table.find("1234567"), std::string::npos) << table;
  }
  EXPECT_EQ(FormatTable(kRows, 200), FormatTable(kRows));
  // The last column is wrapped, not cut: every word of it is there.
  std::string narrow = FormatTable(kRows, 50);
  for (const char* word : {"matrix", "rows", "columns"})
    EXPECT_NE(narrow.find(word), std::string::npos) << narrow;
}

TEST(FormatTable, OnATerminalCellsAreSafe) {
  const Rows rows{{"name"}, {"evil\x1b[2J"}};
  EXPECT_EQ(FormatTable(rows, 80), "name\nevil\\x1b[2J\n");
  EXPECT_EQ(FormatTable(rows), "name\nevil\x1b[2J\n");  // exact elsewhere
}

TEST(FormatTable, TakesRowsThatAreShortOrEmpty) {
  EXPECT_EQ(FormatTable({}), "");
  EXPECT_EQ(FormatTable({{"a", "b"}, {"c"}, {}}), "a  b\nc\n\n");
}

}  // namespace
}  // namespace motley
