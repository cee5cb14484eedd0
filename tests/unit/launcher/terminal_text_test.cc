#include "tools/motley/terminal_text.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

using namespace std::string_literals;

TEST(SafeForTerminal, LeavesTextAndMakesControlCharactersVisible) {
  const struct {
    std::string text, safe;
  } rows[] = {
      {"plain text\n\twith tab", "plain text\n\twith tab"},
      {"h\xC3\xA9llo \xE4\xBD\xA0 \xF0\x9F\x98\x80", "h\xC3\xA9llo \xE4\xBD\xA0 \xF0\x9F\x98\x80"},
      {"\x1b[2J", "\\x1b[2J"},
      {"\x1b[1m", "\\x1b[1m"},  // styles are ours alone
      {"a\x07\x08\x7f\0z"s, "a\\x07\\x08\\x7f\\x00z"},
      {"\xC2\x9B"
       "31m",
       "\\xc2\\x9b31m"},         // CSI of C1
      {"\xC2\xA0", "\xC2\xA0"},  // a no-break space is none
      {"a\r\nb", "a\nb"},
      {"secret\rpublic", "secret\\x0dpublic"},
      {"a\r", "a\\x0d"},
      {"\xFF\xC3(", "\\xff\\xc3("},
      {"cut \xE4\xBD", "cut \\xe4\\xbd"},
      {"", ""},
  };
  for (const auto& row : rows) EXPECT_EQ(SafeForTerminal(row.text), row.safe);
}

TEST(TerminalText, DoesNotDependOnWhereThePiecesAreCut) {
  const std::string text = "a\r\nb\rc\x1b[1m\xF0\x9F\x98\x80\xC2\x9B\xFFz\r";
  const std::string whole = SafeForTerminal(text);
  for (size_t first = 0; first <= text.size(); ++first) {
    for (size_t second = first; second <= text.size(); ++second) {
      TerminalText terminal;
      std::string out = terminal.Push(text.substr(0, first));
      out += terminal.Push(text.substr(first, second - first));
      out += terminal.Push(text.substr(second));
      out += terminal.Flush();
      EXPECT_EQ(out, whole) << first << " " << second;
    }
  }
}

TEST(SafeButStyled, LetsThreeStylesThroughAndNothingElse) {
  EXPECT_EQ(SafeButStyled("\x1b[1mbold\x1b[0m and \x1b[2mdim\x1b[0m"),
            "\x1b[1mbold\x1b[0m and \x1b[2mdim\x1b[0m");
  EXPECT_EQ(SafeButStyled("\x1b[31mred\x1b[1;5m\x1b"), "\\x1b[31mred\\x1b[1;5m\\x1b");
  EXPECT_EQ(SafeButStyled("\x1b\x1b[1mx"), "\\x1b\x1b[1mx");
}

TEST(DisplayWidth, CountsColumns) {
  UseUtf8Locale();
  EXPECT_EQ(DisplayWidth("abc"), 3u);
  EXPECT_EQ(DisplayWidth("h\xC3\xA9llo"), 5u);
  EXPECT_EQ(DisplayWidth("\xE4\xBD\xA0\xE5\xA5\xBD"), 4u);  // wide
  EXPECT_EQ(DisplayWidth("e\xCC\x81"), 1u);                 // an accent that joins
  EXPECT_EQ(DisplayWidth("\x1b[1mabc\x1b[0m"), 3u);
  EXPECT_EQ(DisplayWidth("\xF0\x9F\x98\x80"), 2u);
}

TEST(FitInto, KeepsBothEndsAndTheWidth) {
  UseUtf8Locale();
  EXPECT_EQ(FitInto("short", 10), "short");
  EXPECT_EQ(FitInto("0123456789", 7), "012…789");
  EXPECT_EQ(FitInto("0123456789", 7, true), "012345…");
  EXPECT_EQ(FitInto("0123456789", 1), "…");
  EXPECT_EQ(FitInto("0123456789", 0), "");
  for (size_t columns = 0; columns < 12; ++columns)
    EXPECT_LE(DisplayWidth(FitInto("\xE4\xBD\xA0\xE5\xA5\xBD abc \xE4\xBD\xA0\xE5\xA5\xBD", columns)),
              columns);
}

TEST(WrapWords, BreaksAtBlanksWhereThereAreAny) {
  UseUtf8Locale();
  using Lines = std::vector<std::string>;
  EXPECT_EQ(WrapWords("the quick brown fox", 9), (Lines{"the quick", "brown fox"}));
  EXPECT_EQ(WrapWords("the quick brown fox", 10), (Lines{"the quick", "brown fox"}));
  EXPECT_EQ(WrapWords("abcdefghij kl", 4), (Lines{"abcd", "efgh", "ij", "kl"}));
  EXPECT_EQ(WrapWords("", 4), (Lines{""}));
  EXPECT_EQ(WrapWords("abc", 0), (Lines{"a", "b", "c"}));
  EXPECT_EQ(WrapWords("\xE4\xBD\xA0\xE5\xA5\xBD", 1), (Lines{"\xE4\xBD\xA0", "\xE5\xA5\xBD"}));
}

TEST(Wide, GoesThereAndBack) {
  const std::string text = "h\xC3\xA9llo \xE4\xBD\xA0 \xF0\x9F\x98\x80\n\x1b";
  EXPECT_EQ(FromWide(ToWide(text)), text);
  EXPECT_EQ(ToWide("\xFF")[0], L'\uFFFD');
}

}  // namespace
}  // namespace motley
