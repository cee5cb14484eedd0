#include "tools/motley/message_text.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

TEST(Message, EndsAtALinesEndUnlessItSaysOtherwise) {
  const struct {
    const char* text;
    bool goes_on;
    const char* message;
  } rows[] = {
      {"hello", false, "hello"},
      {"", false, ""},
      {"one\\", true, nullptr},
      {"one\ntwo", false, "one\ntwo"},
      {"C:\\\\", false, "C:\\\\"},
      {"three\\\\\\", true, nullptr},
      {"\\", true, nullptr},
      {"\"\"\"", true, nullptr},
      {"\"\"\"begin", true, nullptr},
      {"\"\"\"begin\nmore\\", true, nullptr},
      {"\"\"\"begin\nmore\n\"\"\"", false, "begin\nmore"},
      {"\"\"\"\nbegin\n\n\"\"\"  ", false, "begin\n"},
      {"  \"\"\"x\"\"\"", false, "x"},
      {"\"\"\"\"\"\"", false, ""},
      {"a \"\"\" in it", false, "a \"\"\" in it"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(MessageGoesOn(row.text), row.goes_on) << row.text;
    if (!row.goes_on) {
      EXPECT_EQ(MessageOf(row.text), row.message) << row.text;
    }
  }
}

TEST(Message, ContinuesWithoutTheBackslash) {
  EXPECT_EQ(ContinuedMessage("one\\"), "one\n");
  EXPECT_EQ(ContinuedMessage("one\\\\\\"), "one\\\\\n");
  EXPECT_EQ(ContinuedMessage("\"\"\"one\\"), "\"\"\"one\\\n");  // in a block it is text
  EXPECT_EQ(ContinuedMessage("\"\"\""), "\"\"\"\n");
}

}  // namespace
}  // namespace motley
