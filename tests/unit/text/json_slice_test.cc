#include "core/text/json_slice.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace motley {
namespace {

TEST(JsonSlice, MembersAreFoundAtTheTopAlone) {
  const std::string object = R"( { "a" : {"b": 1, "c": [2, "}"]}, "b":"x\"y" , "c": -1.50e3,"a": null } )";
  EXPECT_EQ(MemberText(object, "b"), R"("x\"y")");
  EXPECT_EQ(MemberText(object, "c"), "-1.50e3");
  EXPECT_EQ(MemberText(object, "a"), "null");  // the later of two
  EXPECT_EQ(MemberText(object, "d"), std::nullopt);
  EXPECT_EQ(MemberText("{}", "a"), std::nullopt);
  EXPECT_EQ(MemberText(R"({"k\n": [1]})", "k\n"), "[1]");
  EXPECT_EQ(MemberText(R"({"x": "a", "a": true})", "a"), "true");  // a value is no key
}

TEST(JsonSlice, ElementsAsTheyWereWritten) {
  EXPECT_EQ(ElementTexts(R"( [ {"a": [1, 2]} , "x,]" ,3.0, [ ] ] )"),
            (std::vector<std::string_view>{R"({"a": [1, 2]})", R"("x,]")", "3.0", "[ ]"}));
  EXPECT_TRUE(ElementTexts("[ ]").empty());
}

TEST(JsonSlice, ControlCharactersInsideOfStringsAreEscaped) {
  EXPECT_EQ(EscapeControls("{\n\"a\n\": \"b\t\\\"\x02\\\n\"}"), "{\n\"a\\n\": \"b\\t\\\"\\u0002\\n\"}");
  EXPECT_EQ(EscapeControls(R"({"a": "\\"})"), R"({"a": "\\"})");
}

TEST(JsonSlice, JsonIsOneValueOfABoundedDepth) {
  for (const char* good : {"1", " {} ", "\"\\u00e9\"", "[1, {\"a\": null}]", "true"}) EXPECT_TRUE(IsJson(good)) << good;
  for (const char* bad : {"", "{", "{} {}", "01", "'a'", "\"\n\"", "\"\xff\"", "NaN", "{\"a\": 1,}"}) {
    EXPECT_FALSE(IsJson(bad)) << bad;
  }
  EXPECT_TRUE(IsJson(std::string(kMaxJsonDepth, '[') + std::string(kMaxJsonDepth, ']')));
  EXPECT_FALSE(IsJson(std::string(kMaxJsonDepth + 1, '[') + std::string(kMaxJsonDepth + 1, ']')));
  EXPECT_FALSE(IsJson(std::string(1 << 20, '[')));
}

TEST(JsonSlice, StringsOfAnyBytesAreJson) {
  EXPECT_EQ(JsonString("a\"\\\n\xff\u00E9"), "\"a\\\"\\\\\\n\uFFFD\u00E9\"");
  EXPECT_TRUE(IsJson(JsonString(std::string(3, '\0'))));
}

TEST(JsonSlice, TheEndOfAnObjectIsFoundAsItGrows) {
  const std::string text = R"({"a": "}\"", "b": [{}]} rest)";
  JsonObjectEnd end;
  for (size_t bytes = 0; bytes < 23; ++bytes) {
    ASSERT_EQ(end.Read(text.substr(0, bytes)), JsonObjectEnd::Result::kMore) << bytes;
  }
  EXPECT_EQ(end.Read(text), JsonObjectEnd::Result::kDone);
  EXPECT_EQ(end.end(), text.find(" rest"));
  for (const char* bad : {"[", "{]", "{'a'", "{\"a\": x", "{<"}) {
    EXPECT_EQ(JsonObjectEnd().Read(bad), JsonObjectEnd::Result::kBad) << bad;
  }
}

}  // namespace
}  // namespace motley
