#include "core/text/stop_matcher.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/text/utf8.h"

namespace motley {
namespace {

StopMatcher Make(std::vector<std::string> stops) {
  auto matcher = StopMatcher::Create(std::move(stops));
  EXPECT_TRUE(matcher.ok()) << matcher.status().ToString();
  return *std::move(matcher);
}

std::string Feed(StopMatcher matcher, const std::vector<std::string>& pieces) {
  std::string out;
  for (const std::string& piece : pieces) {
    if (matcher.Push(piece, &out)) return out;
  }
  matcher.Flush(&out);
  return out;
}

TEST(FieldFailure, S01_AStopAcrossPiecesEndsTheText) {
  StopMatcher matcher = Make({"\nUser:"});
  std::string out;
  EXPECT_FALSE(matcher.Push("Hi", &out));
  EXPECT_EQ(out, "Hi");
  EXPECT_FALSE(matcher.Push("\nUs", &out));
  EXPECT_FALSE(matcher.Push("er", &out));
  EXPECT_EQ(out, "Hi");
  EXPECT_TRUE(matcher.Push(":x", &out));
  EXPECT_EQ(out, "Hi");
  EXPECT_TRUE(matcher.stopped());
  EXPECT_EQ(matcher.matched(), 0);
  EXPECT_TRUE(matcher.Push("more", &out));
  matcher.Flush(&out);
  EXPECT_EQ(out, "Hi");
}

TEST(FieldFailure, S01_WhatOnlyBeganLikeAStopIsKept) {
  EXPECT_EQ(Feed(Make({"\nUser:"}), {"\nUs", "ual"}), "\nUsual");
  EXPECT_EQ(Feed(Make({"\nUser:"}), {"Hi", "\nUs"}), "Hi\nUs");
  EXPECT_EQ(Feed(Make({"aab"}), {"a", "a", "a", "b"}), "a");
}

TEST(FieldFailure, S01_EmptyAndHugeStopsAreRefused) {
  const auto message = [](std::vector<std::string> stops) {
    const auto matcher = StopMatcher::Create(std::move(stops));
    EXPECT_FALSE(matcher.ok());
    EXPECT_EQ(matcher.status().code(), Code::kInvalidArgument);
    return matcher.status().message();
  };
  EXPECT_NE(message({"a", ""}).find("stop[1]"), std::string::npos);
  EXPECT_NE(message({std::string(5 << 20, 'x')}).find("5242880"), std::string::npos);
  EXPECT_NE(message({"\xF0\x9F"}).find("UTF-8"), std::string::npos);
  EXPECT_NE(message(std::vector<std::string>(kMaxStops + 1, "x")).find("65"), std::string::npos);
  EXPECT_TRUE(StopMatcher::Create({std::string(kMaxStopBytes, 'x')}).ok());
}

TEST(FieldFailure, S01_ARefusalSaysWhereTheStopWasGivenAndWhatItIs) {
  const auto message = [](std::vector<std::string> stops, std::string_view what) {
    return StopMatcher::Create(std::move(stops), what).status().message();
  };
  EXPECT_EQ(message({"a", ""}, "--stop"), "--stop[1] = \"\": is empty; give at least one character");
  const std::string huge = message({std::string(5 << 20, 'x')}, "motley.toml:3:8: sampling.stop");
  EXPECT_EQ(huge.find("motley.toml:3:8: sampling.stop[0] = \"xxx"), 0u) << huge;
  EXPECT_LT(huge.size(), 200u);
}

// The rows of the field failure: the stop, the pieces, whether the model ended by itself, the text.
TEST(FieldFailure, S01_Rows) {
  const struct {
    std::vector<std::string> pieces;
    std::string text;
    bool stopped;
  } rows[] = {
      {{"Hi", "\nUs", "er", ":x"}, "Hi", true},
      {{"\nUs", "ual"}, "\nUsual", false},
      {{"\nUs"}, "\nUs", false},  // EOS behind it
  };
  for (const auto& row : rows) {
    StopMatcher matcher = Make({"\nUser:"});
    std::string streamed, whole;
    for (const std::string& piece : row.pieces) matcher.Push(piece, &streamed);
    matcher.Flush(&streamed);
    EXPECT_EQ(streamed, row.text);
    EXPECT_EQ(matcher.stopped(), row.stopped);
    StopMatcher at_once = Make({"\nUser:"});
    std::string all;
    for (const std::string& piece : row.pieces) all += piece;
    at_once.Push(all, &whole);
    at_once.Flush(&whole);
    EXPECT_EQ(whole, streamed);
  }
}

TEST(StopMatcher, OnlyAPossibleBeginningIsHeldBack) {
  StopMatcher matcher = Make({"</end>", "\n\n"});
  std::string out;
  EXPECT_FALSE(matcher.Push("abc\n</en", &out));
  EXPECT_EQ(out, "abc\n");
  EXPECT_FALSE(matcher.Push("\n", &out));
  EXPECT_EQ(out, "abc\n</en");
  EXPECT_TRUE(matcher.Push("\nx", &out));
  EXPECT_EQ(out, "abc\n</en");
  EXPECT_EQ(matcher.matched(), 1);
}

TEST(StopMatcher, WithoutStopsTextPassesThrough) { EXPECT_EQ(Feed(StopMatcher(), {"a", "", "b"}), "ab"); }

TEST(StopMatcher, TheFirstToEndWinsAndThenTheLongest) {
  EXPECT_EQ(Feed(Make({"abcd", "bc"}), {"xabcd"}), "xa");
  EXPECT_EQ(Feed(Make({"c", "abc", "bc"}), {"xab", "c"}), "x");
}

TEST(StopMatcher, ResetBeginsAnew) {
  StopMatcher matcher = Make({"ab"});
  std::string out;
  EXPECT_TRUE(matcher.Push("ab", &out));
  matcher.Reset();
  EXPECT_FALSE(matcher.Push("b", &out));
  EXPECT_EQ(out, "b");
}

TEST(FieldFailure, T03_ACutByAStopLeavesNoHalfCharacter) {
  // The two emoji share three bytes of four.
  EXPECT_EQ(Feed(Make({"\U0001F638"}), {"a\U0001F639b"}), "a\U0001F639b");
  EXPECT_EQ(Feed(Make({"\U0001F638"}), {"a\U0001F639\U0001F638b"}), "a\U0001F639");
}

// The text before the first stop to end, found by looking at every prefix.
std::string Expected(const std::string& text, const std::vector<std::string>& stops) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const std::string& stop : stops) {
      if (stop.size() <= end && text.compare(end - stop.size(), stop.size(), stop) == 0) {
        longest = std::max(longest, stop.size());
      }
    }
    if (longest > 0) return text.substr(0, end - longest);
  }
  return text;
}

TEST(StopMatcher, TheStreamedTextIsThatOfTheWholeWhereverItIsCut) {
  std::mt19937 random(11);
  const std::vector<std::string> letters = {"a", "b", "\n", "\u00E9", "\u00E8", "\U0001F638", "\U0001F639"};
  const auto text = [&](size_t at_most) {
    std::string out;
    for (size_t n = random() % (at_most + 1); n > 0; --n) out += letters[random() % letters.size()];
    return out;
  };
  int stopped = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::string> stops;
    while (stops.empty() || random() % 3 == 0) stops.push_back(letters[random() % letters.size()] + text(3));
    std::string all;
    std::vector<std::string> pieces;
    StopMatcher matcher = Make(stops);
    std::string out;
    for (int i = 0; i < 6; ++i) {
      const std::string piece = text(4);
      all += piece;
      const size_t before = out.size();
      if (!matcher.stopped()) matcher.Push(piece, &out);
      ASSERT_TRUE(IsValidUtf8(std::string_view(out).substr(before)));
    }
    stopped += matcher.stopped();
    matcher.Flush(&out);
    ASSERT_EQ(out, Expected(all, stops));
  }
  EXPECT_GT(stopped, 5000);
  EXPECT_LT(stopped, 20000);
}

}  // namespace
}  // namespace motley
