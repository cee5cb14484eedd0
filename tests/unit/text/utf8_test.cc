#include "core/text/utf8.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace motley {
namespace {

using std::string_literals::operator""s;

const std::string kFffd = "\xEF\xBF\xBD";

std::string Stream(const std::vector<std::string>& pieces) {
  Utf8Stream stream;
  std::string out;
  for (const std::string& piece : pieces) stream.Push(piece, &out);
  stream.Flush(&out);
  return out;
}

TEST(FieldFailure, T03_ACharacterCutBetweenPiecesComesWhole) {
  Utf8Stream stream;
  std::string out;
  stream.Push("\x20\xF0\x9F", &out);
  EXPECT_EQ(out, " ");
  EXPECT_EQ(stream.held_back(), 2u);
  stream.Push("\x98\xB8", &out);
  EXPECT_EQ(out, " \xF0\x9F\x98\xB8");
  stream.Flush(&out);
  EXPECT_EQ(out, " \xF0\x9F\x98\xB8");
}

TEST(FieldFailure, T03_AnEndInsideACharacterIsOneReplacement) { EXPECT_EQ(Stream({"a\xF0\x9F"}), "a" + kFffd); }

// The expected values are those of Python's bytes.decode("utf-8", "replace").
TEST(FieldFailure, T03_WhatIsInvalidIsReplacedAndTheTextGoesOn) {
  EXPECT_EQ(Stream({"x\xC0\x80y"}), "x" + kFffd + kFffd + "y");
  EXPECT_EQ(Stream({"x\xED\xA0\x80y"}), "x" + kFffd + kFffd + kFffd + "y");
  EXPECT_EQ(Stream({"\xF0\x9F\x98z"}), kFffd + "z");
  EXPECT_EQ(Stream({"\xE2\x82", "\xE2\x82\xAC"}), kFffd + "\xE2\x82\xAC");
  EXPECT_EQ(Stream({"\xF4\x90\x80\x80"}), kFffd + kFffd + kFffd + kFffd);
  EXPECT_EQ(Stream({"\xE0\x80\x80"}), kFffd + kFffd + kFffd);
  EXPECT_EQ(Stream({"\xFF\xFE"}), kFffd + kFffd);
  EXPECT_EQ(Stream({"\0a"s}), "\0a"s);
}

TEST(Utf8, TheStreamedTextIsThatOfTheWholeWhereverItIsCut) {
  std::mt19937 random(7);
  // Bytes that begin, go on with, and break characters.
  const std::string bytes = "az \xC0\xC2\xDF\xE0\xE2\xED\xEF\xF0\xF1\xF4\xF5\x80\x8F\x90\x9F\xA0\xBF\xBF\x82";
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (size_t n = random() % 12; n > 0; --n) text += bytes[random() % bytes.size()];
    std::vector<std::string> pieces;
    for (size_t at = 0; at < text.size();) {
      const size_t n = 1 + random() % 4;
      pieces.push_back(text.substr(at, n));
      at += n;
    }
    const std::string whole = ToValidUtf8(text);
    ASSERT_EQ(Stream(pieces), whole);
    ASSERT_TRUE(IsValidUtf8(whole));
    ASSERT_EQ(IsValidUtf8(text), whole == text);
  }
}

TEST(Utf8, EveryScalarValueIsValidAndNothingElseIs) {
  for (uint32_t c = 0; c < 0x110000; ++c) {
    std::string text;
    if (c < 0x80) {
      text = {static_cast<char>(c)};
    } else if (c < 0x800) {
      text = {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 63))};
    } else if (c < 0x10000) {
      text = {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 63)),
              static_cast<char>(0x80 | (c & 63))};
    } else {
      text = {static_cast<char>(0xF0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 63)),
              static_cast<char>(0x80 | (c >> 6 & 63)), static_cast<char>(0x80 | (c & 63))};
    }
    const bool surrogate = c >= 0xD800 && c < 0xE000;
    ASSERT_EQ(IsValidUtf8(text), !surrogate) << std::hex << c;
    ASSERT_FALSE(IsValidUtf8(text + "1234567\xFF"));
    if (!surrogate) { ASSERT_EQ(NextUtf8(text).size, text.size()); }
  }
}

}  // namespace
}  // namespace motley
